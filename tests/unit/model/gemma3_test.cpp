// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gemma3.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Gemma 3 is Gemma with more norms, windows, and two rotations", "[model][gemma3]") {
  Json config = testing::llama_config();
  config["num_hidden_layers"] = 7;
  config["hidden_act"] = "gelu_pytorch_tanh";
  config["sliding_window"] = 32;
  config["query_pre_attn_scalar"] = 4;
  const Architecture model = gemma3_architecture(config, "config.json");
  CHECK(model.family == "gemma3_text");
  CHECK(model.query_scale == 2.0f);  // sqrt(16 / 4)
  CHECK(model.norm_offset == 1.0f);
  CHECK(model.names.mlp_post_norm == "post_feedforward_layernorm");
  for (std::size_t layer = 0; layer < 7; ++layer) {
    CHECK(model.layers[layer].window.positions == (layer == 5 ? 0 : 32));
    CHECK(model.layers[layer].rotary == (layer == 5 ? 0 : 1));
    CHECK(model.layers[layer].query_key_norm == QueryKeyNorm::head);
  }
}

TEST_CASE("both spellings of Gemma 3's rotation are read", "[model][gemma3]") {
  Json old = testing::llama_config();
  old["hidden_act"] = "gelu_pytorch_tanh";
  Json now = old;
  old["rope_theta"] = 5e5;
  old["rope_local_base_freq"] = 2e4;
  old["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  now["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 5e5}}},
                            {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 2e4}}}};
  const Architecture a = gemma3_architecture(old, "x"), b = gemma3_architecture(now, "x");
  for (const std::size_t table : {0, 1}) {
    CHECK(a.rotary_tables[table].inverse_frequencies == b.rotary_tables[table].inverse_frequencies);
  }
  for (const char* kind : {"full_attention", "sliding_attention"}) now["rope_parameters"][kind].erase("rope_theta");
  now["rope_theta"] = 5e5;
  now["rope_local_base_freq"] = 2e4;
  const Architecture c = gemma3_architecture(now, "x");
  for (const std::size_t table : {0, 1}) {
    CHECK(a.rotary_tables[table].inverse_frequencies == c.rotary_tables[table].inverse_frequencies);
  }
  CHECK(a.rotary_tables[0].inverse_frequencies[0] == 0.125f);
  CHECK(a.rotary_tables[1].inverse_frequencies[0] == 1.0f);
}

TEST_CASE("scores and logits are capped where a config says so", "[model][gemma3]") {
  Json config = testing::llama_config();
  config["hidden_act"] = "gelu_pytorch_tanh";
  config["attn_logit_softcapping"] = nullptr;
  config["final_logit_softcapping"] = 30.0;
  const Architecture model = gemma3_architecture(config, "x");
  CHECK(model.score_cap == 0.0f);
  CHECK(model.logit_cap == 30.0f);
}
