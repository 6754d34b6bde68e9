// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/i8_weights.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/balanced_i8.hpp>
#include <tulle/kernel/bitmask_i8.hpp>
#include <tulle/kernel/dense_i8.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("a panel is read in any order, padded with zeros", "[kernel][i8_weights]") {
  const auto matrix = testing::random_matrix(DType::i8, 33, 40, 5);
  detail::I8PanelReader reader(matrix.rows, I8Rows::Codes::of_file);
  REQUIRE(reader.codes().size() == 64 * panel_rows);
  REQUIRE(reader.scales().size() == panel_rows);
  for (const std::size_t panel : {1, 2, 0}) {
    reader.read(panel);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const std::size_t at = panel * panel_rows + row;
      REQUIRE(reader.scales()[row] == (at < 33 ? matrix.rows[at].scale : 0.0f));
      for (std::size_t column = 0; column < 64; ++column) {
        const int code = reader.codes()[(column / 4 * panel_rows + row) * 4 + column % 4];
        const bool real = at < 33 && column < 40;
        REQUIRE(code == (real ? static_cast<std::int8_t>(matrix.rows[at].data[column]) : 0));
      }
    }
  }
}

TEST_CASE("bytes a weight: 1 dense, 1/8 and the nonzeros as a bitmask", "[kernel][i8_weights]") {
  constexpr std::size_t rows = 64, columns = 512, scales = rows * sizeof(float);
  const auto size_of = [&](auto kernel, testing::Zeros zeros) {
    return kernel.pack(testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), zeros, 7).rows).size_bytes();
  };
  CHECK(size_of(DenseI8(), {}) == rows * columns + scales);
  // A random byte may be zero too; every panel begins at a cache line.
  const std::size_t half = size_of(BitmaskI8(), {8, 16}) - scales - 4 * sizeof(std::size_t);
  CHECK(half <= rows * columns * 5 / 8 + 4 * 64);
  CHECK(half >= rows * columns * 5 / 8 * 98 / 100);
}

TEST_CASE("a matrix without the zeros a layout wants is refused, with its rows", "[kernel][i8_weights]") {
  auto matrix = testing::pruned(testing::random_matrix(DType::i8, 40, 64, 8), {2, 4}, 9);
  matrix.bytes[1 + 20 * 64 + 4] = matrix.bytes[1 + 20 * 64 + 5] = matrix.bytes[1 + 20 * 64 + 6] = std::byte{1};
  std::fill_n(&matrix.bytes[1 + 35 * 64], 64, std::byte{1});  // a later panel is no better
  ThreadPool threads(3);
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &threads}) {
    try {
      (void)TwoOfFourI8::pack(matrix.rows, {.pool = pool});
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK_THAT(error.what(),
                 Catch::Matchers::ContainsSubstring("rows 16 to 31") && Catch::Matchers::ContainsSubstring("2:4_i8"));
    }
  }
}
