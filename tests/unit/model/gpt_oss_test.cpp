// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gpt_oss.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("GPT-OSS has sinks, windows on even layers and clamped experts", "[model][gpt_oss]") {
  const Architecture model = gpt_oss_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.layers.size() == 36);
  CHECK(model.layers[0].window.positions == 128);
  CHECK(model.layers[1].window.positions == 0);
  CHECK(model.layers[0].mlp == MlpKind::gated_clamped);
  CHECK(model.layers[0].experts.count == 128);
  CHECK(model.layers[0].output_bias);
  CHECK(model.router_bias);
  CHECK(model.names.sinks == "self_attn.sinks");
  CHECK(model.rotary_tables[0].factor == Catch::Approx(0.1 * std::log(32.0) + 1));
  for (const char* key : {"swiglu_limit", "swiglu_alpha"}) {
    CHECK(test::error_of([&] { (void)gpt_oss_architecture({{key, 1.0}}, "x"); }) == ErrorCode::unsupported);
  }
  for (const char* key : {"rope_scaling", "rope_parameters"}) {  // null is absent
    const Architecture same = gpt_oss_architecture({{key, nullptr}}, "x");
    CHECK(same.rotary_tables[0].inverse_frequencies == model.rotary_tables[0].inverse_frequencies);
  }
}
