// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/qwen2_moe.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("Qwen2-MoE has experts but in the layers that a config says are dense", "[model][qwen2_moe]") {
  const Json config{{"num_hidden_layers", 6}, {"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}};
  const Architecture model = qwen2_moe_architecture(config, "config.json");
  model.validate("config.json");
  for (std::size_t layer = 0; layer < 6; ++layer) CHECK(model.layers[layer].is_mixture() == (layer == 1 || layer == 5));
  CHECK(model.layers[0].intermediate == 5632);
  CHECK(model.layers[1].intermediate == 1408);
  CHECK(model.layers[1].experts.shared_intermediate == 5632);
  CHECK_FALSE(model.layers[1].experts.normalized);
  CHECK(model.layers[1].qkv_bias);
  CHECK(model.names.shared_gate == "mlp.shared_expert_gate");
  CHECK(qwen2_moe_architecture({{"num_local_experts", 6}}, "config.json").layers[0].experts.count == 6);
  CHECK(test::error_of([] { (void)qwen2_moe_architecture({{"use_sliding_window", true}}, "x"); }) ==
        ErrorCode::unsupported);
}
