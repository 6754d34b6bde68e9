// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/starcoder2.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("StarCoder2 is Llama with layer norms, biases and a plain MLP", "[model][starcoder2]") {
  Architecture model = starcoder2_architecture({{"sliding_window", 4096}}, "config.json");
  model.validate("config.json");
  CHECK(model.vocabulary == 49152);
  CHECK(model.kv_heads == 2);
  CHECK(model.norm == NormKind::layer);
  CHECK(model.layers[0].mlp == MlpKind::gelu);
  CHECK(model.layers[0].up_rows() == 12288);
  CHECK(model.layers[0].mlp_bias);
  CHECK(model.layers[29].window.positions == 4096);
  CHECK(model.tied_head);
  model = starcoder2_architecture({{"use_bias", false}}, "config.json");
  CHECK_FALSE(model.layers[0].qkv_bias);
}
