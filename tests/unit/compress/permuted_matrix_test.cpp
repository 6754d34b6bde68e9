// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/permuted_matrix.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

using namespace tulle;

TEST_CASE("A permuted matrix has its source's values in their new places") {
  const std::vector<float> values{0, 1, 2, 10, 11, 12};
  const auto source = matrix_of_floats(2, 3, DType::bf16, values);
  const PermutedMatrix both(source, {1, 0}, {2, 0, 1}), rows(source, {1, 0}, {}), columns(source, {}, {2, 0, 1});
  CHECK(both.code_format() == source->code_format());
  std::vector<float> found(6);
  const auto read = [&](const WeightSource& matrix) {
    for (std::size_t row = 0; row < 2; ++row) matrix.decode_row(row, found.data() + row * 3);
    return found;
  };
  CHECK(read(both) == std::vector<float>{12, 10, 11, 2, 0, 1});
  CHECK(read(rows) == std::vector<float>{10, 11, 12, 0, 1, 2});
  CHECK(read(columns) == std::vector<float>{2, 0, 1, 12, 10, 11});
  CHECK(read(*both.copied()) == std::vector<float>{12, 10, 11, 2, 0, 1});
}

TEST_CASE("Values of codes are rounded to the type in which the matrix says it has them") {
  OwnedCodes codes;
  codes.codes = {3, -7};
  codes.scales = {0.1f};
  const PermutedMatrix matrix(matrix_of_codes(1, 2, {.bits = 8}, std::move(codes)), {}, {1, 0});
  CHECK(matrix.code_format() == CodeFormat{.floats = DType::f16});
  std::vector<float> found(2);
  matrix.decode_row(0, found.data());
  CHECK(found == std::vector<float>{to_float(to_half(-7 * 0.1f)), to_float(to_half(3 * 0.1f))});
}
