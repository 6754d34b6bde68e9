// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/transposed_rows.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("the columns of a matrix are the rows of its transpose", "[tensor][transposed_rows]") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0}) {
    const testing::EncodedMatrix matrix = testing::random_matrix(dtype, 5, 64, 3);
    const TransposedRows turned(matrix.rows);
    CHECK(turned.rows() == 64);
    CHECK(turned.columns() == 5);
    CHECK(turned.code_format().bits == 0);
    CHECK(turned.code_format().floats == (dtype == DType::bf16 ? DType::bf16 : DType::f32));
    std::vector<float> wanted(64), found(2 * 5);
    const std::array<std::uint32_t, 2> rows{63, 2};
    for (const std::shared_ptr<const WeightSource>& source : {turned.copied()}) {
      source->decode(rows, {found.data(), 2, 5});
      for (std::size_t column = 0; column < 5; ++column) {
        matrix.rows.decode_row(column, wanted.data());
        CHECK(found[column] == wanted[63]);
        CHECK(found[5 + column] == wanted[2]);
      }
    }
  }
}
