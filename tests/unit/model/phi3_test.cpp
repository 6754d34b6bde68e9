// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/phi3.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Phi-3 is Llama with fused tensors", "[model][phi3]") {
  Json config = testing::llama_config();
  config["sliding_window"] = 20;
  config["partial_rotary_factor"] = 0.75;
  const Architecture model = phi3_architecture(config, "config.json");
  model.validate("config.json");
  CHECK(model.family == "phi3");
  CHECK(model.names.query_key_value == "self_attn.qkv_proj");
  CHECK(model.key_order[0] == 64);
  CHECK(model.value_order[0] == 96);
  CHECK(model.up_tensor_rows(model.layers[0]) == 192);
  CHECK(model.rotary_tables[0].dimensions() == 12);
  CHECK(model.layers[1].window.positions == 20);
  for (const double part : {0.2, 0.0, 0.01, -0.5, 2.0, 1e300}) {
    config["partial_rotary_factor"] = part;
    CHECK(test::error_of([&] { (void)phi3_architecture(config, "x"); }) == ErrorCode::malformed);
  }
}

TEST_CASE("absent keys have the defaults of transformers' Phi3Config", "[model][phi3]") {
  const Architecture model = phi3_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 32064);
  CHECK(model.hidden == 3072);
  CHECK(model.layers[0].intermediate == 8192);
  CHECK(model.kv_heads == 32);
  CHECK(model.layers[0].window.positions == 0);
}

TEST_CASE("a rotation by two lists of factors is refused by name", "[model][phi3]") {
  Json config = testing::llama_config();
  config["rope_scaling"] = {{"type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", {1.0}}};
  CHECK(test::error_of([&] { (void)phi3_architecture(config, "x"); }) == ErrorCode::unsupported);
}
