// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/mpt.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("MPT has no biases, ALiBi and clipped queries", "[model][mpt]") {
  const Json attention{{"clip_qkv", 8.0}, {"alibi_bias_max", 4}};
  const Architecture model =
      mpt_architecture({{"n_heads", 6}, {"d_model", 48}, {"attn_config", attention}}, "config.json");
  model.validate("config.json");
  CHECK(mpt_architecture({{"num_attention_heads", 6}, {"hidden_size", 48}}, "config.json").heads == 6);
  CHECK_FALSE(model.norm_bias);
  CHECK(model.qkv_clip == 8.0f);
  CHECK(model.layers[0].intermediate == 192);
  CHECK(model.query_scale == 1.0f);
  // Every second of the eight powers, then the first of the others.
  const std::vector<float> powers = alibi_powers(8, 4);
  CHECK(model.alibi_slopes == std::vector<float>{powers[1], powers[3], powers[5], powers[7], powers[0], powers[2]});
}

TEST_CASE("what MPT can be and is not supported is refused", "[model][mpt]") {
  const auto code_of = [](const Json& config) { return test::error_of([&] { (void)mpt_architecture(config, "x"); }); };
  CHECK(code_of({{"no_bias", false}}) == ErrorCode::unsupported);
  CHECK(code_of({{"attn_config", {{"alibi", false}}}}) == ErrorCode::unsupported);
  CHECK(code_of({{"attn_config", {{"qk_ln", true}}}}) == ErrorCode::unsupported);
  CHECK(code_of({{"attn_config", 3}}) == ErrorCode::malformed);
  CHECK(code_of({{"logit_scale", "inv_sqrt_d_model"}}) == ErrorCode::unsupported);
}
