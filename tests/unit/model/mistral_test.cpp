// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/mistral.hpp>

#include <catch2/catch_all.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Mistral is Llama with a window on every layer", "[model][mistral]") {
  Json config = testing::llama_config();
  config["sliding_window"] = 24;
  const Architecture model = mistral_architecture(config, "config.json");
  CHECK(model.family == "mistral");
  CHECK(model.head_dim == 16);
  for (const LayerSpec& layer : model.layers) CHECK(layer.window.positions == 24);
  config["sliding_window"] = nullptr;
  CHECK(mistral_architecture(config, "x").layers[0].window.positions == 0);
}

TEST_CASE("absent keys have the defaults of transformers' MistralConfig", "[model][mistral]") {
  const Architecture model = mistral_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 32000);
  CHECK(model.heads == 32);
  CHECK(model.kv_heads == 8);
  CHECK(model.head_dim == 128);
  CHECK(model.layers[0].intermediate == 14336);
  CHECK(model.layers[0].window.positions == 4096);
  CHECK(model.context_length == 131072);
  CHECK(model.norm_epsilon == 1e-6f);
}
