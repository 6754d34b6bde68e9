// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/gemma.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("Gemma is Llama with a gate by gelu, norms around 1 and larger embeddings", "[model][gemma]") {
  Json config = testing::llama_config();
  config["model_type"] = "gemma";
  config["hidden_act"] = "gelu";
  const Architecture model = gemma_architecture(config, "config.json");
  CHECK(model.family == "gemma");
  CHECK(model.layers[0].mlp == MlpKind::gated_gelu);
  CHECK(model.layers[0].up_rows() == 192);
  CHECK(model.norm_offset == 1.0f);
  CHECK(model.embedding_scale == 8.0f);
  Json encoder = config;
  encoder["use_bidirectional_attention"] = true;
  CHECK(test::error_of([&] { (void)gemma_architecture(encoder, "x"); }) == ErrorCode::unsupported);
  Json second = config;
  second["model_type"] = "gemma2";
  CHECK(test::error_of([&] { (void)gemma_architecture(second, "x"); }) == ErrorCode::unsupported);
  config["hidden_activation"] = "silu";
  CHECK(test::error_of([&] { (void)gemma_architecture(config, "x"); }) == ErrorCode::unsupported);
}

TEST_CASE("absent keys have the defaults of transformers' GemmaConfig", "[model][gemma]") {
  const Architecture model = gemma_architecture(Json::object(), "config.json");
  CHECK(model.vocabulary == 256000);
  CHECK(model.hidden == 3072);
  CHECK(model.layers.size() == 28);
  CHECK(model.kv_heads == 16);
  CHECK(model.head_dim == 256);
  CHECK(model.layers[0].intermediate == 24576);
  CHECK(model.context_length == 8192);
  CHECK(model.tied_head);
  CHECK(model.bos == 2);
  CHECK(model.eos == std::vector<Token>{1});
}
