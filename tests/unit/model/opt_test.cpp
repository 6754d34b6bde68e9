// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/opt.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("OPT has learned positions from row 2 on and relu", "[model][opt]") {
  const Architecture model = opt_architecture(Json::object(), "config.json");
  model.validate("config.json");
  CHECK(model.vocabulary == 50272);
  CHECK(model.hidden == 768);
  CHECK(model.layers.size() == 12);
  CHECK(model.layers[0].intermediate == 3072);
  CHECK(model.layers[0].mlp == MlpKind::relu);
  CHECK(model.layers[0].residual == Residual::sequential);
  CHECK(model.layers[0].qkv_bias);
  CHECK(model.first_position == 2);
  CHECK(model.learned_positions == 2050);
  CHECK(model.embedding_columns() == 768);
  CHECK(model.names.project_embedding.empty());
  CHECK(model.tied_head);
  CHECK(model.eos == std::vector<Token>{2});
}

TEST_CASE("OPT-350M has its norms behind the additions and narrow embeddings", "[model][opt]") {
  const Json config{{"do_layer_norm_before", false},
                    {"word_embed_proj_dim", 512},
                    {"hidden_size", 1024},
                    {"num_attention_heads", 16}};
  const Architecture model = opt_architecture(config, "config.json");
  model.validate("config.json");
  CHECK(model.layers[0].residual == Residual::post_norm);
  CHECK(model.names.final_norm.empty());
  CHECK(model.embedding_columns() == 512);
  CHECK(model.names.project_embedding == "model.decoder.project_in");
  CHECK(model.names.project_logits == "model.decoder.project_out");
}

TEST_CASE("OPT configs that make no sense are refused", "[model][opt]") {
  const auto code_of = [](const Json& config) { return test::error_of([&] { (void)opt_architecture(config, "x"); }); };
  CHECK(code_of({{"hidden_size", 770}}) == ErrorCode::malformed);
  CHECK(code_of({{"num_attention_heads", 0}}) == ErrorCode::malformed);
  CHECK(code_of({{"activation_function", "mish"}}) == ErrorCode::unsupported);
  CHECK(code_of({{"layer_norm_elementwise_affine", false}}) == ErrorCode::unsupported);
}
