// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gemma2.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("Gemma 2 caps scores and logits, and every second layer has a window", "[model][gemma2]") {
  Architecture model = gemma2_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.family == "gemma2");
  CHECK(model.score_cap == 50.0f);
  CHECK(model.logit_cap == 30.0f);
  CHECK(model.layers[0].window.positions == 4096);
  CHECK(model.layers[1].window.positions == 0);
  CHECK(model.names.attention_post_norm == "post_attention_layernorm");
  model = gemma2_architecture({{"attn_logit_softcapping", nullptr}, {"query_pre_attn_scalar", 64}}, "config.json");
  CHECK(model.score_cap == 0.0f);
  CHECK(model.query_scale == 2.0f);
  CHECK(test::error_of([] { (void)gemma2_architecture({{"hidden_activation", "silu"}}, "x"); }) ==
        ErrorCode::unsupported);
}
