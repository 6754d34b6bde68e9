// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/qwen3.hpp>

#include <catch2/catch_all.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Qwen3 is Llama with norms of the heads of queries and keys", "[model][qwen3]") {
  const Architecture model = qwen3_architecture(testing::llama_config(), "config.json");
  CHECK(model.family == "qwen3");
  CHECK(model.names.query_norm == "self_attn.q_norm");
  CHECK(model.names.key_norm == "self_attn.k_norm");
  for (const LayerSpec& layer : model.layers) {
    CHECK(layer.query_key_norm == QueryKeyNorm::head);
    CHECK_FALSE((layer.qkv_bias || layer.output_bias || layer.mlp_bias));
    CHECK(layer.window.positions == 0);
  }
}

TEST_CASE("absent keys have the defaults of transformers' Qwen3Config", "[model][qwen3]") {
  const Architecture model = qwen3_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 151936);
  CHECK(model.heads == 32);
  CHECK(model.kv_heads == 32);
  CHECK(model.head_dim == 128);
  CHECK(model.layers[0].intermediate == 22016);
  CHECK(model.context_length == 32768);
  CHECK_FALSE(model.bos.has_value());
  CHECK(model.eos.empty());
}
