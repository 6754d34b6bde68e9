// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gpt_neox.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("GPT-NeoX has two norms for branches side by side, and fuses by head", "[model][gpt_neox]") {
  Architecture model = gpt_neox_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.vocabulary == 50432);
  CHECK(model.head_dim == 96);
  CHECK(model.layers[0].residual == Residual::parallel);
  CHECK(model.layers[0].mlp == MlpKind::gelu_erf);
  CHECK(model.names.mlp_norm == "post_attention_layernorm");
  CHECK(model.rotary_tables[0].dimensions() == 24);
  CHECK(model.key_order[0] == 96);
  CHECK(model.query_order[96] == 288);
  model =
      gpt_neox_architecture({{"use_parallel_residual", false}, {"rotary_pct", 1.0}, {"rotary_emb_base", 5000}}, "x");
  CHECK(model.layers[0].residual == Residual::sequential);
  CHECK(model.rotary_tables[0].inverse_frequencies[24] == Catch::Approx(std::pow(5000.0, -0.5)));
  // The family's own names come before those of others.
  const auto own = model.rotary_tables[0].inverse_frequencies;
  model = gpt_neox_architecture(
      {{"rotary_pct", 1.0}, {"partial_rotary_factor", 0.5}, {"rotary_emb_base", 5000}, {"rope_theta", 10000}}, "x");
  CHECK(model.rotary_tables[0].inverse_frequencies == own);
}
