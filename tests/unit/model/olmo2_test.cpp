// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/olmo2.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("OLMo 2 has norms behind its branches, none before them", "[model][olmo2]") {
  const Architecture model = olmo2_architecture(testing::llama_config(), "config.json");
  CHECK(model.family == "olmo2");
  CHECK(model.names.attention_norm.empty());
  CHECK(model.names.mlp_norm.empty());
  CHECK(model.names.attention_post_norm == "post_attention_layernorm");
  CHECK(model.layers[0].query_key_norm == QueryKeyNorm::row);
}

TEST_CASE("absent keys have the defaults of transformers' Olmo2Config", "[model][olmo2]") {
  const Architecture model = olmo2_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 50304);
  CHECK(model.norm_epsilon == 1e-5f);
  CHECK_FALSE(model.bos.has_value());
  CHECK(model.eos == std::vector<Token>{50279});
}
