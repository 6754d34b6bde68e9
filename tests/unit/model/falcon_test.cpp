// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/falcon.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("Falcon 7B has one key-value head and one norm for both branches", "[model][falcon]") {
  const Architecture model = falcon_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.kv_heads == 1);
  CHECK(model.head_dim == 64);
  CHECK(model.layers[0].residual == Residual::parallel);
  CHECK(model.names.mlp_norm.empty());
  CHECK(model.key_order[0] == 71 * 64);
  CHECK(model.rotary_tables[0].dimensions() == 64);
}

TEST_CASE("Falcon 40B groups queries with their keys and values, and has two norms", "[model][falcon]") {
  const Json config{{"new_decoder_architecture", true}, {"hidden_size", 512}, {"n_head", 8}, {"n_head_kv", 2}};
  const Architecture model = falcon_architecture(config, "config.json");
  model.validate("config.json");
  CHECK(model.kv_heads == 2);
  CHECK(model.names.attention_norm == "ln_attn");
  CHECK(model.names.mlp_norm == "ln_mlp");
  CHECK(model.query_order[256] == 6 * 64);
  CHECK(model.key_order[0] == 256);
}

TEST_CASE("Falcon RW has ALiBi and one branch after the other", "[model][falcon]") {
  const Json config{{"alibi", true}, {"multi_query", false}, {"parallel_attn", false},
                    {"bias", true},  {"hidden_size", 64},    {"num_attention_heads", 4}};
  const Architecture model = falcon_architecture(config, "config.json");
  model.validate("config.json");
  CHECK(model.kv_heads == 4);
  CHECK(model.layers[0].residual == Residual::sequential);
  CHECK(model.names.mlp_norm == "post_attention_layernorm");
  CHECK(model.alibi_slopes[0] == 0.0625f);  // 1/4 / sqrt(16)
  CHECK(model.rotary_tables[0].dimensions() == 0);
  const Json odd{{"new_decoder_architecture", true}, {"hidden_size", 64}, {"n_head", 4}, {"n_head_kv", 3}};
  CHECK(test::error_of([&] { (void)falcon_architecture(odd, "x"); }) == ErrorCode::malformed);
}
