// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/phi3.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

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

TEST_CASE("the divisors of frequencies follow the length of the sequences", "[model][phi3]") {
  Json config = testing::llama_config();
  const std::vector<double> small(8, 1.0), large(8, 2.0);
  config["rope_scaling"] = {{"type", "longrope"}, {"short_factor", small}, {"long_factor", large}};
  config["original_max_position_embeddings"] = 64;
  Architecture model = phi3_architecture(config, "x");
  CHECK(model.rotary_tables[0].inverse_frequencies[0] == 1.0f);
  CHECK(model.rotary_tables[0].factor == Catch::Approx(std::sqrt(1 + std::log(4.0) / std::log(64.0))));
  model.set_sequence_length(64);
  CHECK(model.rotary_tables[0].inverse_frequencies[0] == 1.0f);
  model.set_sequence_length(65);
  CHECK(model.rotary_tables[0].inverse_frequencies[0] == 0.5f);
  config["rope_scaling"]["original_max_position_embeddings"] = 128;  // that of the config wins
  CHECK(phi3_architecture(config, "x").rotary_tables[0].factor ==
        Catch::Approx(std::sqrt(1 + std::log(4.0) / std::log(64.0))));
  config.erase("original_max_position_embeddings");
  config["rope_scaling"].erase("original_max_position_embeddings");
  config["max_position_embeddings"] = 131072;  // 32 times Phi3Config's 4096
  CHECK(phi3_architecture(config, "x").rotary_tables[0].factor ==
        Catch::Approx(std::sqrt(1 + std::log(32.0) / std::log(4096.0))));
  config["rope_scaling"]["long_factor"] = {2.0};
  CHECK(test::error_of([&] { (void)phi3_architecture(config, "x"); }) == ErrorCode::malformed);
}
