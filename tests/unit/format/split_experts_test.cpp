// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/split_experts.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

std::map<std::string, EncodedTensor> split(const std::string& name, DType dtype, std::vector<std::size_t> shape) {
  static const std::vector<std::byte> bytes(4096);
  EncodedTensor tensor{name, dtype, std::move(shape), {}};
  tensor.bytes = std::span(bytes).first(tensor.size_bytes());
  tensor.file_offset = 100;
  std::map<std::string, EncodedTensor> parts;
  detail::split_gpt_oss_experts(tensor, [&](EncodedTensor part) { parts[part.name] = std::move(part); });
  return parts;
}

}  // namespace

TEST_CASE("the experts of a tensor become tensors over parts of its bytes", "[format][split_experts]") {
  const auto parts = split("model.layers.3.mlp.experts.down_proj", DType::bf16, {4, 6, 10});
  REQUIRE(parts.size() == 4);
  const EncodedTensor& second = parts.at("model.layers.3.mlp.experts.1.down_proj.weight");
  CHECK(second.shape == std::vector<std::size_t>{10, 6});
  CHECK(second.transposed);
  CHECK(second.file_offset == 100 + 120);
  CHECK(second.bytes.size() == 120);
  CHECK(second.order.as_it_lies());
}

TEST_CASE("rows of gate and up are taken in turn", "[format][split_experts]") {
  const auto weights = split("m.mlp.experts.gate_up_proj", DType::f32, {2, 6, 8});
  REQUIRE(weights.size() == 4);
  const EncodedTensor& up = weights.at("m.mlp.experts.1.up_proj.weight");
  CHECK(up.shape == std::vector<std::size_t>{8, 6});
  CHECK(up.order.rows() == 4);
  CHECK(up.order[0] == 1);
  CHECK(up.order[3] == 7);
  const auto biases = split("m.mlp.experts.gate_up_proj_bias", DType::f32, {2, 8});
  CHECK(biases.at("m.mlp.experts.0.gate_proj.bias").taken_elements() == 4);
  const auto blocks = split("m.mlp.experts.gate_up_proj_blocks", DType::u8, {2, 8, 2, 16});
  CHECK(blocks.at("m.mlp.experts.1.gate_proj_blocks").shape == std::vector<std::size_t>{8, 2, 16});
  CHECK_FALSE(blocks.at("m.mlp.experts.1.gate_proj_blocks").transposed);
}

TEST_CASE("other tensors stay, and experts of another shape are malformed", "[format][split_experts]") {
  for (const char* name : {"model.norm.weight", "m.mlp.experts.0.gate_proj.weight"}) {
    CHECK(split(name, DType::f32, {4, 4}).count(name) == 1);
  }
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{4}, {4, 4}, {70000, 0, 0}, {60000, 0, 4}}) {
    CHECK(test::error_of([&] { (void)split("m.mlp.experts.down_proj", DType::f32, shape); }) == ErrorCode::malformed);
  }
}
