// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/weights.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <utility>
#include <vector>

#include <tulle/kernel/dense/dense_float.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("a linear layer is as tall as its parts together", "[model][weights]") {
  Linear<DenseF32> linear;
  CHECK(linear.rows() == 0);
  CHECK(linear.columns() == 0);
  CHECK(linear.size_bytes() == 0);
  linear.parts.push_back({"a", 0, DenseF32::pack(testing::random_matrix(DType::f32, 32, 24, 1).rows)});
  linear.parts.push_back({"b", 32, DenseF32::pack(testing::random_matrix(DType::f32, 10, 24, 2).rows)});
  linear.bias.resize(42);
  CHECK(linear.rows() == 42);
  CHECK(linear.columns() == 24);
  CHECK(linear.size_bytes() == (32 * 24 + 16 * 24 + 42) * sizeof(float));  // the last panel is padded
}

TEST_CASE("an embedding keeps the rows of its file in their own encoding", "[model][weights]") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_1}) {
    const auto matrix = testing::random_matrix(dtype, 20, 64, 3);
    const Embedding embedding(matrix.rows);
    CHECK(embedding.size_bytes() == 20 * dtype_bytes(dtype, 64, "x"));
    for (const Token token : {0, 7, 19}) {
      std::vector<float> wanted(64), found(64);
      matrix.rows.decode_row(static_cast<std::size_t>(token), wanted.data());
      embedding.row(token, found.data());
      CHECK(found == wanted);
    }
  }
}

TEST_CASE("a model without rows of its own embeds by the head's and takes no memory for it", "[model][weights]") {
  const auto matrix = testing::random_matrix(DType::f32, 20, 64, 4),
             other = testing::random_matrix(DType::f32, 20, 64, 5);
  ModelWeights<DenseF32> weights;
  weights.head.parts.push_back({"head", 0, DenseF32::pack(matrix.rows)});
  CHECK(weights.size_bytes() == weights.head.size_bytes());
  std::vector<float> wanted(64), found(64);
  matrix.rows.decode_row(19, wanted.data());
  const ModelWeights<DenseF32> moved = std::move(weights);
  moved.embed(19, found.data());
  CHECK(found == wanted);

  ModelWeights<DenseF32> untied;
  untied.embedding.emplace(other.rows);
  other.rows.decode_row(19, wanted.data());
  untied.embed(19, found.data());
  CHECK(found == wanted);
}

TEST_CASE("the linear layers of a model are visited in the order of the forward pass", "[model][weights]") {
  ModelWeights<DenseF32> weights;
  weights.layers.resize(2);
  const auto name = [](Linear<DenseF32>& linear, const std::string& text) { linear.parts.push_back({text, 0, {}}); };
  for (const std::size_t i : {0, 1}) {
    name(weights.layers[i].query_key_value, "qkv" + std::to_string(i));
    name(weights.layers[i].output, "o" + std::to_string(i));
    name(weights.layers[i].up, "up" + std::to_string(i));
    name(weights.layers[i].down, "down" + std::to_string(i));
  }
  name(weights.head, "head");
  std::vector<std::string> seen;
  weights.for_each_linear([&](const Linear<DenseF32>& linear) { seen.push_back(linear.parts.front().name); });
  CHECK(seen == std::vector<std::string>{"qkv0", "o0", "up0", "down0", "qkv1", "o1", "up1", "down1", "head"});
}
