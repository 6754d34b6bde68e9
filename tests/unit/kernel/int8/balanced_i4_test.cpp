// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/balanced_i4.hpp>

#include <cstddef>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/dense/dense_i4.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

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

TEST_CASE("balanced int4 takes 3/8 or 1/4 of a byte a weight, and a scale per 32 columns", "[kernel][balanced_i4]") {
  constexpr std::size_t weights = row_count * column_count, scales = weights / 32 * 2;
  CHECK(TwoOfFourI4::pack(pruned(DType::q4_0, {2, 4}).rows).size_bytes() == weights * 3 / 8 + scales);
  CHECK(EightOfSixteenGap4I4::pack(pruned(DType::q4_0, {8, 16, 4}).rows).size_bytes() == weights * 3 / 8 + scales);
  CHECK(FourOfSixteenI4::pack(pruned(DType::q4_0, {4, 16}).rows).size_bytes() == weights / 4 + scales);
}

TEST_CASE("balanced int4 keeps Q4_0 and quantizes the rest as dense int4 does", "[kernel][balanced_i4]") {
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

TEST_CASE("4-bit weights without the zeros of a layout are refused by its name", "[kernel][balanced_i4]") {
  CHECK_THROWS_WITH(FourOfSixteenI4::pack(pruned(DType::q4_0, {2, 4}).rows),
                    Catch::Matchers::ContainsSubstring("4:16_i4"));
}
