// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/olmoe.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("OLMoE has norms of rows of queries and keys, and experts in every layer", "[model][olmoe]") {
  const Architecture model = olmoe_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.layers.size() == 16);
  CHECK(model.layers[15].experts.count == 64);
  CHECK(model.layers[0].intermediate == 2048);
  CHECK(model.layers[0].query_key_norm == QueryKeyNorm::row);
  CHECK(olmoe_architecture({{"num_local_experts", 6}}, "config.json").layers[0].experts.count == 6);
  CHECK(test::error_of([] { (void)olmoe_architecture({{"clip_qkv", 8.0}}, "x"); }) == ErrorCode::unsupported);
}
