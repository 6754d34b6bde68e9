// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gpt2.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("GPT-2 has learned positions and one tensor of queries, keys and values", "[model][gpt2]") {
  const Architecture model = gpt2_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.vocabulary == 50257);
  CHECK(model.learned_positions == 1024);
  CHECK(model.layers[0].intermediate == 3072);
  CHECK(model.layers[0].mlp == MlpKind::gelu);
  CHECK(model.layers[0].qkv_bias);
  CHECK(model.key_order[0] == 768);
  CHECK(model.value_order[1] == 1537);
  CHECK(model.rotary_tables[0].dimensions() == 0);
  for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
    CHECK(test::error_of([&] { (void)gpt2_architecture({{key, true}}, "x"); }) == ErrorCode::unsupported);
  }
}
