// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/layer_spec.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("a gated layer stacks gate and up", "[model][layer_spec]") {
  LayerSpec layer{.intermediate = 96};
  CHECK(layer.up_rows() == 192);
  layer.mlp = MlpKind::gelu;
  CHECK(layer.up_rows() == 96);
  CHECK(layer.window == Window{});
}
