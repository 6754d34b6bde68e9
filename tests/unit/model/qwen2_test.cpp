// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/qwen2.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Qwen2 is Llama with biases of queries, keys and values alone", "[model][qwen2]") {
  const Architecture model = qwen2_architecture(testing::llama_config(), "config.json");
  CHECK(model.family == "qwen2");
  CHECK(model.hidden == 64);
  CHECK(model.kv_heads == 2);
  CHECK(model.head_dim == 16);
  for (const LayerSpec& layer : model.layers) {
    CHECK(layer.qkv_bias);
    CHECK_FALSE((layer.output_bias || layer.mlp_bias));
  }
  CHECK_FALSE((model.head_bias || model.tied_head));
  CHECK(model.names.query == "self_attn.q_proj");
  CHECK(model.bos == 1);
  CHECK(model.eos == std::vector<Token>{2});
}

TEST_CASE("absent keys have the defaults of transformers' Qwen2Config", "[model][qwen2]") {
  const Architecture model = qwen2_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 151936);
  CHECK(model.hidden == 4096);
  CHECK(model.layers.size() == 32);
  CHECK(model.heads == 32);
  CHECK(model.kv_heads == 32);
  CHECK(model.head_dim == 128);
  CHECK(model.layers[0].intermediate == 22016);
  CHECK(model.context_length == 32768);
  CHECK(model.norm_epsilon == 1e-6f);
  CHECK_FALSE(model.bos.has_value());
  CHECK(model.eos.empty());
}

TEST_CASE("the upper layers have a window where the config says so", "[model][qwen2]") {
  Json config = testing::llama_config();
  config["max_window_layers"] = 1;
  config["sliding_window"] = 64;
  config["use_sliding_window"] = false;
  CHECK(qwen2_architecture(config, "x").layers[1].window.positions == 0);
  config["use_sliding_window"] = true;
  CHECK(qwen2_architecture(config, "x").layers[0].window.positions == 0);
  CHECK(qwen2_architecture(config, "x").layers[1].window.positions == 64);
}
