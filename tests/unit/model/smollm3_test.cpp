// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/smollm3.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

std::vector<bool> rotating(const Architecture& model) {
  std::vector<bool> found;
  for (const LayerSpec& layer : model.layers) found.push_back(model.rotary_tables[layer.rotary].dimensions() != 0);
  return found;
}

}  // namespace

TEST_CASE("in some layers of SmolLM3 nothing rotates", "[model][smollm3]") {
  Json config = testing::llama_config();
  config["num_hidden_layers"] = 5;
  CHECK(rotating(smollm3_architecture(config, "x")) == std::vector<bool>{true, true, true, false, true});
  config["no_rope_layer_interval"] = 2;
  CHECK(rotating(smollm3_architecture(config, "x")) == std::vector<bool>{true, false, true, false, true});
  config["no_rope_layers"] = {0, 1, 0, 1, 1};
  CHECK(rotating(smollm3_architecture(config, "x")) == std::vector<bool>{false, true, false, true, true});
  config["sliding_window"] = 8;
  CHECK(smollm3_architecture(config, "x").layers[0].window.positions == 0);
  config["use_sliding_window"] = true;
  CHECK(smollm3_architecture(config, "x").layers[0].window.positions == 8);
  CHECK(smollm3_architecture(config, "x").layers[1].window.positions == 0);
}

TEST_CASE("absent keys have the defaults of transformers' SmolLM3Config", "[model][smollm3]") {
  const Architecture model = smollm3_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 128256);
  CHECK(model.hidden == 2048);
  CHECK(model.layers.size() == 36);
  CHECK(model.heads == 16);
  CHECK(model.kv_heads == 4);
  CHECK(model.layers[0].intermediate == 11008);
  CHECK(model.tied_head);
  CHECK(model.bos == 128000);
  CHECK(rotating(model)[2]);
  CHECK_FALSE(rotating(model)[3]);
}
