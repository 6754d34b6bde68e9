// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/edited_tensors.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/compress/compressed_matrix.hpp>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Replaced matrices and values are seen through several layers of edits, the others as they were") {
  testing::MemorySource base;
  base.put_floats("a.weight", {2, 2}, {1, 2, 3, 4});
  base.put_floats("norm.weight", {2}, {5, 6});
  EditedTensors first(&base);
  EditedTensors second(&first);
  first.replace_values("norm.weight", {7, 8});
  second.replace("a", matrix_of_floats(2, 2, DType::f32, std::vector<float>{9, 9, 9, 9}));
  CHECK(read_floats(second, *second.find("norm.weight")) == std::vector<float>{7, 8});
  CHECK(read_floats(base, *base.find("norm.weight")) == std::vector<float>{5, 6});
  std::vector<float> row(2);
  second.matrix("a")->decode_row(1, row.data());
  CHECK(row == std::vector<float>{9, 9});
  first.matrix("a")->decode_row(1, row.data());
  CHECK(row == std::vector<float>{3, 4});
  CHECK(second.names() == base.names());
  CHECK(second.matrix("b") == nullptr);
}
