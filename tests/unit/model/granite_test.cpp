// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/granite.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Granite is Llama with four factors", "[model][granite]") {
  Json config = testing::llama_config();
  config["embedding_multiplier"] = 12.0;
  config["attention_multiplier"] = 0.5;
  config["residual_multiplier"] = 0.22;
  config["logits_scaling"] = 8;
  const Architecture model = granite_architecture(config, "config.json");
  CHECK(model.family == "granite");
  CHECK(model.embedding_scale == 12.0f);
  CHECK(model.query_scale == 2.0f);  // 0.5 in place of 1 / sqrt(16)
  CHECK(model.residual_scale == 0.22f);
  CHECK(model.logit_scale == 0.125f);
}

TEST_CASE("factors of 0 make no model", "[model][granite]") {
  for (const char* key : {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"}) {
    Json config = testing::llama_config();
    config[key] = 0;
    CHECK(test::error_of([&] { granite_architecture(config, "x").validate("x"); }) == ErrorCode::malformed);
  }
}
