// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/phi.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("Phi has both branches on one norm, biases, and rotates a part of a head", "[model][phi]") {
  const Architecture model = phi_architecture({{"partial_rotary_factor", 0.4}, {"hidden_size", 2560}}, "config.json");
  model.validate("config.json");
  CHECK(model.head_dim == 80);
  CHECK(model.rotary_tables[0].dimensions() == 32);
  CHECK(model.layers[0].residual == Residual::parallel);
  CHECK(model.names.mlp_norm.empty());
  CHECK(model.head_bias);
  CHECK(phi_architecture(Json::object(), "x").rotary_tables[0].dimensions() == 32);  // half of 64
  CHECK(test::error_of([] { (void)phi_architecture({{"qk_layernorm", true}}, "x"); }) == ErrorCode::unsupported);
}
