// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/model_parts.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/export/made_model.hpp"

using namespace tulle;
using namespace tulle::testing;

TEST_CASE("matrices are found once, with their format; scales are no tensors of their own", "[format][export]") {
  MadeModel model;
  model.put("model.embed_tokens", 9, 8, int8_rows);
  model.put("model.layers.0.up", 4, 8, int8_rows);
  model.tensors.put_floats("model.layers.0.up.weight_scale", {4, 1}, std::vector<float>(4));
  model.tensors.put_floats("model.layers.0.up.bias", {4}, std::vector<float>(4));
  model.tensors.put_floats("model.norm.weight", {8}, std::vector<float>(8));
  model.tensors.put("mask", DType::u8, {2, 2}, std::vector<std::byte>(4));
  const ModelParts parts = model_parts(model, Json::object());
  CHECK(parts.tensors == std::vector<std::string>{"mask", "model.layers.0.up.bias", "model.norm.weight"});
  REQUIRE(parts.matrices.size() == 2);
  CHECK(parts.matrices[0] == MatrixPart{"model.embed_tokens", 9, 8, int8_rows, true});
  CHECK(parts.matrices[1] == MatrixPart{"model.layers.0.up", 4, 8, int8_rows, false});
}

TEST_CASE("embeddings and heads are known by the last part of their names", "[format][export]") {
  for (const char* name : {"lm_head", "transformer.wte", "model.embed_tokens"}) CHECK(detail::is_table_name(name));
  for (const char* name : {"model.layers.0.mlp.up_proj", "wte.proj"}) CHECK_FALSE(detail::is_table_name(name));
}
