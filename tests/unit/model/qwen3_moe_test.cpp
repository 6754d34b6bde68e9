// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/qwen3_moe.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("Qwen3-MoE is Qwen3 with experts", "[model][qwen3_moe]") {
  const Architecture model = qwen3_moe_architecture({{"norm_topk_prob", true}}, "config.json");
  model.validate("config.json");
  CHECK(model.head_dim == 64);
  CHECK(model.kv_heads == 4);
  CHECK(model.layers[0].experts.count == 128);
  CHECK(model.layers[0].experts.per_row == 8);
  CHECK(model.layers[0].experts.normalized);
  CHECK(model.layers[0].intermediate == 768);
  CHECK(model.layers[0].query_key_norm == QueryKeyNorm::head);
  // as transformers 5 writes it
  CHECK(qwen3_moe_architecture({{"num_local_experts", 6}}, "config.json").layers[0].experts.count == 6);
  CHECK(test::error_of([] { (void)qwen3_moe_architecture({{"num_experts", "many"}}, "x"); }) == ErrorCode::malformed);
}
