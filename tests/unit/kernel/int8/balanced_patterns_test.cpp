// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/balanced_patterns.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

using namespace tulle;
using detail::EightOfSixteen;
using detail::EightOfSixteenGap4;
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
bool is_chosen_ell(unsigned mask, const typename Pattern::Columns& columns) {
  unsigned seen = 0;
  typename Pattern::Columns fields{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if ((seen >> columns[i] & 1) != 0) return false;
    seen |= 1u << columns[i];
    if (Pattern::field(columns, i) >= 1u << Pattern::field_bits) return false;
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

TEST_CASE("of all masks of 16, each pattern takes those it can hold and chooses well", "[kernel][balanced_patterns]") {
  std::size_t whole_8 = 0;
  for (unsigned mask = 0; mask < 65536; ++mask) {
    const auto values = row_with(mask);
    TwoOfFour::Columns two{};
    FourOfSixteen::Columns four{};
    EightOfSixteenGap4::Columns eight{};
    EightOfSixteen::Columns any{};
    const bool fits_two = TwoOfFour::choose(values, two), fits_four = FourOfSixteen::choose(values, four);
    const bool fits_eight = EightOfSixteenGap4::choose(values, eight), fits_any = EightOfSixteen::choose(values, any);
    CAPTURE(mask);
    REQUIRE(fits_two == has_2_of_4(mask));
    REQUIRE(fits_four == (std::popcount(mask) <= 4));
    REQUIRE(fits_eight == (fewest_columns(mask) <= 8));
    REQUIRE(fits_any == (std::popcount(mask) <= 8));
    if (fits_two) REQUIRE(is_chosen_ell<TwoOfFour>(mask, two));
    if (fits_four) REQUIRE(is_chosen_ell<FourOfSixteen>(mask, four));
    if (fits_eight) REQUIRE(is_chosen_ell<EightOfSixteenGap4>(mask, eight));
    if (fits_any) REQUIRE(is_chosen_ell<EightOfSixteen>(mask, any));
    whole_8 += std::popcount(mask) == 8 && fits_eight;
  }
  CHECK(whole_8 == 8938);
}
