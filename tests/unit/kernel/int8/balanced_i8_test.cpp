// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/balanced_i8.hpp>

#include <cstddef>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("balanced int8 takes 5/8, 3/4 or 3/8 of a byte a weight", "[kernel][balanced_i8]") {
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
