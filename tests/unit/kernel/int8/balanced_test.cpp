// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/balanced.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/dense/dense_i4.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::EightOfSixteen;
using detail::EightOfSixteenGap4;
using detail::FourOfSixteen;
using detail::TwoOfFour;

namespace {

constexpr std::size_t row_count = 64, column_count = 512;

testing::EncodedMatrix pruned(DType dtype, testing::Zeros zeros) {
  return testing::pruned(testing::random_matrix(dtype, row_count, column_count, 6), zeros, 7);
}

/// Whether every row unpacks to the same values from both kernels.
template <LinearKernel A, LinearKernel B>
bool same_values(A, B, const WeightSource& source) {
  const auto a = A::pack(source);
  const auto b = B::pack(source);
  std::vector<float> of_a(column_count), of_b(column_count);
  for (std::size_t row = 0; row < row_count; ++row) {
    A::unpack_row(a, row, of_a.data());
    B::unpack_row(b, row, of_b.data());
    for (std::size_t column = 0; column < column_count; ++column) {
      if (of_a[column] != of_b[column]) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("balanced int4 takes 3/8 or 1/4 of a byte a weight, and a scale per 32 columns", "[kernel][balanced]") {
  constexpr std::size_t weights = row_count * column_count, scales = weights / 32 * 2;
  CHECK(TwoOfFourI4::pack(pruned(DType::q4_0, {2, 4}).rows).size_bytes() == weights * 3 / 8 + scales);
  CHECK(EightOfSixteenGap4I4::pack(pruned(DType::q4_0, {8, 16, 4}).rows).size_bytes() == weights * 3 / 8 + scales);
  CHECK(FourOfSixteenI4::pack(pruned(DType::q4_0, {4, 16}).rows).size_bytes() == weights / 4 + scales);
}

TEST_CASE("balanced int4 keeps Q4_0 and quantizes the rest as dense int4 does", "[kernel][balanced]") {
  CHECK(TwoOfFourI4::keeps_values(testing::RowList::format_of(DType::q4_0), {}));
  CHECK_FALSE(TwoOfFourI4::keeps_values(testing::RowList::format_of(DType::q4_1), {}));
  CHECK_FALSE(TwoOfFourI4::keeps_values(testing::RowList::format_of(DType::q8_0), {}));
  for (const DType dtype : {DType::q4_0, DType::q8_0, DType::i8, DType::f32}) {
    CAPTURE(dtype_name(dtype));
    CHECK(same_values(TwoOfFourI4(), DenseI4(), pruned(dtype, {2, 4}).rows));
    CHECK(same_values(EightOfSixteenGap4I4(), DenseI4(), pruned(dtype, {8, 16, 4}).rows));
    CHECK(same_values(FourOfSixteenI4(), DenseI4(), pruned(dtype, {4, 16}).rows));
  }
}

TEST_CASE("4-bit weights without the zeros of a layout are refused by its name", "[kernel][balanced]") {
  CHECK_THROWS_WITH(FourOfSixteenI4::pack(pruned(DType::q4_0, {2, 4}).rows),
                    Catch::Matchers::ContainsSubstring("4:16_i4"));
}

TEST_CASE("balanced int8 takes 5/8, 3/4 or 3/8 of a byte a weight", "[kernel][balanced]") {
  constexpr std::size_t rows = 64, columns = 512, scales = rows * sizeof(float);
  const auto size_of = [&](auto kernel, testing::Zeros zeros) {
    return kernel.pack(testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), zeros, 7).rows)
        .size_bytes();
  };
  CHECK(size_of(TwoOfFourI8(), {2, 4}) == rows * columns * 5 / 8 + scales);
  CHECK(size_of(EightOfSixteenGap4I8(), {8, 16, 4}) == rows * columns * 5 / 8 + scales);
  CHECK(size_of(EightOfSixteenI8(), {8, 16}) == rows * columns * 3 / 4 + scales);
  CHECK(size_of(FourOfSixteenI8(), {4, 16}) == rows * columns * 3 / 8 + scales);
}

template <class Pattern, std::size_t CodeBits>
struct Layout {
  using Of = Pattern;
  using Blocks = detail::BalancedBlocks<Pattern, CodeBits>;
};

TEMPLATE_TEST_CASE("a balanced block reads back", "[kernel][balanced]", (Layout<detail::TwoOfFour, 8>),
                   (Layout<detail::FourOfSixteen, 8>), (Layout<detail::EightOfSixteenGap4, 8>),
                   (Layout<detail::EightOfSixteen, 8>), (Layout<detail::TwoOfFour, 4>),
                   (Layout<detail::FourOfSixteen, 4>), (Layout<detail::EightOfSixteenGap4, 4>)) {
  using Pattern = typename TestType::Of;
  using Blocks = typename TestType::Blocks;
  testing::Numbers numbers(2);
  for (int round = 0; round < 50; ++round) {
    std::array<std::int8_t, detail::block_codes> codes{}, read{};
    for (std::size_t row = 0; row < panel_rows; ++row) {
      typename Pattern::Columns columns{};
      std::array<std::int8_t, 16> mask;
      do {
        const unsigned bits = numbers.bits() & numbers.bits();
        for (std::size_t k = 0; k < 16; ++k) mask[k] = static_cast<std::int8_t>(bits >> k & 1);
      } while (!Pattern::choose(mask, columns));
      for (std::size_t k = 0; k < 16; ++k) {
        const auto code = static_cast<std::int8_t>(numbers.bits() | 1);
        if (mask[k] == 0) continue;
        codes[(k / 4 * panel_rows + row) * 4 + k % 4] =
            static_cast<std::int8_t>(Blocks::code_bits == 8 ? code : code % 8);
      }
    }
    REQUIRE(Blocks::fits(codes.data()));
    std::array<std::uint8_t, Blocks::block_bytes> bytes{};
    REQUIRE(Blocks::write(codes.data(), bytes.data()) == bytes.data() + bytes.size());
    const typename Blocks::Cursor cursor{bytes.data()};
    cursor.read(read.data());
    REQUIRE(read == codes);
  }
}

TEST_CASE("a layout of 4-bit codes takes -8 to 7 and nothing else", "[kernel][balanced]") {
  using Blocks = detail::BalancedBlocks<detail::FourOfSixteen, 4>;
  std::array<std::int8_t, detail::block_codes> codes{};
  for (const int code : {-9, -8, 7, 8}) {
    codes[77] = static_cast<std::int8_t>(code);
    CHECK(Blocks::fits(codes.data()) == (code >= -8 && code <= 7));
  }
}

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

TEST_CASE("of all masks of 16, each pattern takes those it can hold and chooses well", "[kernel][balanced][no_simd]") {
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
