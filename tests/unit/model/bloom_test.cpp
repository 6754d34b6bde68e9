// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/bloom.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("BLOOM has ALiBi and a norm of embeddings", "[model][bloom]") {
  Architecture model =
      bloom_architecture({{"n_embed", 1024}, {"n_head", 16}, {"num_hidden_layers", 24}}, "config.json");
  model.validate("config.json");
  CHECK(model.vocabulary == 250880);
  CHECK(model.hidden == 1024);
  CHECK(model.layers.size() == 24);
  CHECK(model.layers[0].intermediate == 4096);
  CHECK(model.alibi_slopes.size() == 16);
  CHECK(model.names.embedding_norm == "transformer.word_embeddings_layernorm");
  CHECK(model.value_order[64] == 64 * 3 + 128);
  CHECK(test::error_of([] { (void)bloom_architecture({{"apply_residual_connection_post_layernorm", true}}, "x"); }) ==
        ErrorCode::unsupported);
}
