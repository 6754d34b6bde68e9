// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/mixtral.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("Mixtral is Mistral with experts whose weights are normalized", "[model][mixtral]") {
  const Architecture model = mixtral_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.family == "mixtral");
  CHECK(model.layers[0].experts.count == 8);
  CHECK(model.layers[0].experts.per_row == 2);
  CHECK(model.layers[0].experts.normalized);
  CHECK(model.layers[0].intermediate == 14336);
  CHECK(model.layers[0].window.positions == 0);
  CHECK(model.names.expert_up == "w3");
  const Architecture odd = mixtral_architecture({{"num_local_experts", 2}, {"num_experts_per_tok", 3}}, "x");
  CHECK(test::error_of([&] { odd.validate("x"); }) == ErrorCode::malformed);
}
