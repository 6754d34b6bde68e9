// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell.hpp>

#include <cmath>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

template <class Isa = isa::Avx512>
double bytes_a_weight(testing::Zeros zeros, bool nibbles = false) {
  constexpr std::size_t rows = 160, columns = 1024;
  const auto matrix = testing::pruned(testing::random_matrix(DType::i8, rows, columns, 11), zeros, 4);
  return static_cast<double>(EllWeights::pack<Isa>(matrix.rows, nibbles).size_bytes()) / (rows * columns);
}

}  // namespace

TEST_CASE("bytes a weight at 50, 70, 80 and 90 % sparsity", "[kernel][ell]") {
  CHECK(bytes_a_weight({50, 100, 100}) < 0.80);
  CHECK(bytes_a_weight({30, 100, 100}) < 0.54);
  CHECK(bytes_a_weight({20, 100, 100}) < 0.39);
  CHECK(bytes_a_weight({10, 100, 100}) < 0.25);
  CHECK(bytes_a_weight({20, 100, 100}, true) < 0.26);
  // With the shorter windows of AVX2.
  CHECK(bytes_a_weight<isa::Avx2>({50, 100, 100}) < 0.80);
  CHECK(bytes_a_weight<isa::Avx2>({30, 100, 100}) < 0.58);
  CHECK(bytes_a_weight<isa::Avx2>({20, 100, 100}) < 0.40);
  CHECK(bytes_a_weight<isa::Avx2>({10, 100, 100}) < 0.27);
  CHECK(bytes_a_weight<isa::Avx2>({20, 100, 100}, true) < 0.29);
}

TEST_CASE("rows that are not as long as those beside them hardly take more bytes", "[kernel][ell]") {
  if (!detail::EllRowOrder::moves_rows) SKIP("rows stay where they are in this build");
  constexpr testing::Zeros uneven{.kept = 40, .group = 128, .uneven = true};  // 18 % of the weights
  CHECK(bytes_a_weight(uneven) < 0.36);
  CHECK(bytes_a_weight(uneven, true) < 0.25);
  CHECK(bytes_a_weight<isa::Avx2>(uneven) < 0.38);
  CHECK(bytes_a_weight<isa::Avx2>(uneven, true) < 0.27);
}

TEST_CASE("rows of int8 keep their values", "[kernel][ell]") {
  const auto matrix = testing::pruned(testing::random_matrix(DType::i8, 35, 2500, 12), {1, 3}, 5);
  const EllWeights weights = EllWeights::pack<isa::Active>(matrix.rows, false);
  std::vector<float> expected(2500), unpacked(2500);
  for (std::size_t row = 0; row < 35; ++row) {
    matrix.rows.decode_row(row, expected.data());
    weights.unpack_row(row, unpacked.data());
    REQUIRE(unpacked == expected);
  }
}

TEST_CASE("values of 4 bits are the nearest seventh of a row's largest", "[kernel][ell]") {
  const auto matrix = testing::pruned(testing::random_matrix(DType::i8, 20, 300, 13), {1, 3}, 6);
  const EllWeights weights = EllWeights::pack<isa::Active>(matrix.rows, true);
  std::vector<float> exact(300), unpacked(300);
  for (std::size_t row = 0; row < 20; ++row) {
    matrix.rows.decode_row(row, exact.data());
    weights.unpack_row(row, unpacked.data());
    float largest = 0;
    for (const float value : exact) largest = std::max(largest, std::fabs(value));
    for (std::size_t column = 0; column < 300; ++column) {
      REQUIRE(std::fabs(unpacked[column] - exact[column]) <= largest / 14 * 1.0001f);
    }
  }
}

TEST_CASE("rows of blocks with scales of their own get one scale each", "[kernel][ell]") {
  const auto matrix = testing::pruned(testing::random_matrix(DType::q8_0, 17, 64, 14), {1, 3}, 7);
  const EllWeights weights = EllWeights::pack<isa::Active>(matrix.rows, false);
  std::vector<float> exact(64), unpacked(64);
  for (std::size_t row = 0; row < 17; ++row) {
    matrix.rows.decode_row(row, exact.data());
    weights.unpack_row(row, unpacked.data());
    float largest = 0;
    for (const float value : exact) largest = std::max(largest, std::fabs(value));
    for (std::size_t column = 0; column < 64; ++column) {
      REQUIRE(std::fabs(unpacked[column] - exact[column]) <= largest / 254 * 1.0001f);
    }
  }
}
