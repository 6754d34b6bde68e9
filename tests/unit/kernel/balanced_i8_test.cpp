// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/balanced_i8.hpp>

#include <array>
#include <bit>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::EightOfSixteen;
using detail::FourOfSixteen;
using detail::TwoOfFour;

namespace {

std::array<std::int8_t, 16> row_with(unsigned mask) {
  std::array<std::int8_t, 16> values{};
  for (unsigned k = 0; k < 16; ++k) values[k] = static_cast<std::int8_t>(mask >> k & 1 ? k + 1 : 0);
  return values;
}

/// Whether the columns chosen for `mask` hold all of it, each once, and their fields lead back to them.
template <class Pattern>
bool is_chosen_well(unsigned mask, const typename Pattern::Columns& columns) {
  unsigned seen = 0;
  typename Pattern::Columns fields{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if ((seen >> columns[i] & 1) != 0) return false;
    seen |= 1u << columns[i];
    if (Pattern::field(columns, i) >= (Pattern::steps == 2 ? 4u : 16u)) return false;
    fields[i] = static_cast<std::uint8_t>(Pattern::field(columns, i));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (Pattern::column(fields, i) != columns[i]) return false;
  }
  return (mask & ~seen) == 0;
}

bool has_2_of_4(unsigned mask) {
  for (unsigned four = 0; four < 16; four += 4) {
    if (std::popcount(mask >> four & 15) > 2) return false;
  }
  return true;
}

/// The fewest columns that hold `mask` with the first at most 3 and at most 4 from one to the next.
std::size_t fewest_columns(unsigned mask) {
  std::size_t count = 0;
  int last = -1;
  for (int k = 0; k < 16; ++k) {
    if ((mask >> k & 1) == 0) continue;
    count += static_cast<std::size_t>((k - last - 1) / 4) + 1;
    last = k;
  }
  return count;
}

}  // namespace

TEST_CASE("of all masks of 16, each pattern takes those it can hold and chooses well", "[kernel][balanced_i8]") {
  std::size_t whole_8 = 0;
  for (unsigned mask = 0; mask < 65536; ++mask) {
    const auto values = row_with(mask);
    TwoOfFour::Columns two{};
    FourOfSixteen::Columns four{};
    EightOfSixteen::Columns eight{};
    const bool fits_two = TwoOfFour::choose(values, two), fits_four = FourOfSixteen::choose(values, four);
    const bool fits_eight = EightOfSixteen::choose(values, eight);
    CAPTURE(mask);
    REQUIRE(fits_two == has_2_of_4(mask));
    REQUIRE(fits_four == (std::popcount(mask) <= 4));
    REQUIRE(fits_eight == (fewest_columns(mask) <= 8));
    if (fits_two) REQUIRE(is_chosen_well<TwoOfFour>(mask, two));
    if (fits_four) REQUIRE(is_chosen_well<FourOfSixteen>(mask, four));
    if (fits_eight) REQUIRE(is_chosen_well<EightOfSixteen>(mask, eight));
    whole_8 += std::popcount(mask) == 8 && fits_eight;
  }
  CHECK(whole_8 == 8938);
}

TEMPLATE_TEST_CASE("a balanced block reads back", "[kernel][balanced_i8]", TwoOfFour, FourOfSixteen, EightOfSixteen) {
  using Panels = detail::BalancedPanels<TestType>;
  testing::Numbers numbers(2);
  for (int round = 0; round < 50; ++round) {
    std::array<std::int8_t, detail::block_codes> codes{}, read{};
    for (std::size_t row = 0; row < panel_rows; ++row) {
      typename TestType::Columns columns{};
      unsigned mask = 0;
      do {
        mask = numbers.bits() & 0xFFFF & numbers.bits();
      } while (!TestType::choose(row_with(mask), columns));
      for (std::size_t k = 0; k < 16; ++k) {
        if (mask >> k & 1) codes[(k / 4 * panel_rows + row) * 4 + k % 4] = static_cast<std::int8_t>(numbers.bits() | 1);
      }
    }
    REQUIRE(Panels::fits(codes.data()));
    std::array<std::uint8_t, Panels::block_bytes> bytes{};
    REQUIRE(Panels::write(codes.data(), bytes.data()) == bytes.data() + bytes.size());
    const typename Panels::Cursor cursor{bytes.data()};
    cursor.read(read.data());
    REQUIRE(read == codes);
  }
}
