// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gptj.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("GPT-J is CodeGen with queries, keys and values apart", "[model][gptj]") {
  const Architecture model = gptj_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.family == "gptj");
  CHECK(model.hidden == 4096);
  CHECK(model.names.query == "attn.q_proj");
  CHECK(model.query_order.as_it_lies());
  CHECK(model.rotary_tables[0].pairing == RotaryPairing::interleaved);
  CHECK(model.rotary_tables[0].dimensions() == 64);
  CHECK(model.head_bias);
}
