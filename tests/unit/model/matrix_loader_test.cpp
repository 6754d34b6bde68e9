// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/matrix_loader.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include <tulle/kernel/dense/dense_float.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

std::vector<float> row_of(const Linear<DenseF32>& linear, std::size_t row) {
  std::vector<float> values(linear.columns());
  DenseF32::unpack_row(linear.parts.front().weights, row, values.data());
  return values;
}

}  // namespace

TEST_CASE("rows of several layers, or of one that holds them all, are put below each other with their biases",
          "[model][matrix_loader]") {
  testing::MemorySource source;
  source.put_floats("a.weight", {2, 2}, {1, 2, 3, 4});
  source.put_floats("b.weight", {1, 2}, {5, 6});
  source.put_floats("a.bias", {2}, {7, 8});
  source.put_floats("b.bias", {1}, {9});
  const PackOptions pack;
  const std::string family = "test";
  const MatrixLoader<DenseF32> loader(source, family, pack);
  const auto both = loader.linear({{"a", 2, {}}, {"b", 1, {}}}, 2, true);
  REQUIRE(both.rows() == 3);
  CHECK(row_of(both, 1) == std::vector<float>{3, 4});
  CHECK(row_of(both, 2) == std::vector<float>{5, 6});
  CHECK(both.bias == std::vector<float>{7, 8, 9});
  CHECK(both.parts.front().name == "a + b");

  const auto turned =
      loader.linear({{"a", 2, RowOrder::of_blocks(1, 1, 1, 1)}, {"a", 2, RowOrder::of_blocks(1, 1, 0, 1)}}, 2, true);
  CHECK(row_of(turned, 0) == std::vector<float>{3, 4});
  CHECK(row_of(turned, 1) == std::vector<float>{1, 2});
  CHECK(turned.bias == std::vector<float>{8, 7});
  CHECK(turned.parts.front().name == "a");
  CHECK(loader.linear({{"a", 2, {}}}, 2, false).bias.empty());
}

TEST_CASE("a tensor that is missing or of another shape is named", "[model][matrix_loader]") {
  testing::MemorySource source;
  source.put_floats("a.weight", {2, 2}, {1, 2, 3, 4});
  source.put_floats("a.bias", {2}, {7, 8});
  const PackOptions pack;
  const std::string family = "test";
  const MatrixLoader<DenseF32> loader(source, family, pack);
  const auto message = [](auto&& work) { return test::message_of(work); };
  CHECK(message([&] { (void)loader.matrix("c", 2, 2); }).find("\"c.weight\", which a test model needs") !=
        std::string::npos);
  CHECK(message([&] { (void)loader.matrix("a", 3, 2); }).find("[2, 2] where [3, 2]") != std::string::npos);
  CHECK(message([&] { (void)loader.vector("a.bias", 3); }).find("3 elements") != std::string::npos);
  CHECK(test::error_of([&] { (void)loader.vector("b.bias", 3); }) == ErrorCode::not_found);
  CHECK(test::error_of([&] { (void)loader.linear({{"a", 2, {}}}, 4, false); }) == ErrorCode::malformed);
}
