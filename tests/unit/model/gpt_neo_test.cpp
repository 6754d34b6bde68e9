// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gpt_neo.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("GPT-Neo's local layers have a window and scores are not scaled", "[model][gpt_neo]") {
  const Architecture model = gpt_neo_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.layers.size() == 24);
  CHECK(model.layers[0].window.positions == 0);
  CHECK(model.layers[1].window.positions == 256);
  CHECK(model.layers[23].window.positions == 256);
  CHECK_FALSE(model.layers[0].qkv_bias);
  CHECK(model.layers[0].output_bias);
  CHECK(model.query_scale == Catch::Approx(std::sqrt(128.0)));
}

TEST_CASE("GPT-Neo's sizes may have the usual names", "[model][gpt_neo]") {
  const Architecture model = gpt_neo_architecture({{"num_attention_heads", 8}, {"num_hidden_layers", 24}}, "x");
  CHECK(model.heads == 8);
}

TEST_CASE("GPT-Neo's list of layers must fit", "[model][gpt_neo]") {
  const auto code_of = [](const Json& types) {
    return test::error_of([&] { (void)gpt_neo_architecture({{"num_layers", 2}, {"attention_types", types}}, "x"); });
  };
  const auto once = [](const Json& kinds) { return Json::array({Json::array({kinds, 1})}); };
  CHECK(code_of(once({"global"})) == ErrorCode::malformed);
  CHECK(code_of(once({"global", "wide"})) == ErrorCode::unsupported);
  CHECK(code_of(once({"global", 5})) == ErrorCode::unsupported);
  CHECK(code_of(Json::array({Json::array({{"global"}, 4097})})) == ErrorCode::malformed);
  const Json many(std::vector<std::string>(2000, "global"));  // times 4096
  CHECK(code_of(Json::array({Json::array({many, 4096})})) == ErrorCode::malformed);
  CHECK(code_of(Json::array({3})) == ErrorCode::malformed);
  CHECK(code_of("global") == ErrorCode::malformed);
}
