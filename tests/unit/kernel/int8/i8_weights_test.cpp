// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/i8_weights.hpp>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("bytes a weight: 1 dense, 1/8 and the nonzeros as a bitmask", "[kernel][i8_weights]") {
  constexpr std::size_t rows = 64, columns = 512, scales = rows * sizeof(float);
  const auto size_of = [&](auto kernel, testing::Zeros zeros) {
    return kernel.pack(testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), zeros, 7).rows)
        .size_bytes();
  };
  CHECK(size_of(DenseI8(), {}) == rows * columns + scales);
  // A random byte may be zero too; every panel begins at a cache line.
  const std::size_t half = size_of(BitmaskI8(), {8, 16}) - scales - 4 * sizeof(std::size_t);
  CHECK(half <= rows * columns * 5 / 8 + 4 * 64);
  CHECK(half >= rows * columns * 5 / 8 * 98 / 100);
}
