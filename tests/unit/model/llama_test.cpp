// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/llama.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("a llama config becomes its architecture", "[model][llama]") {
  const Architecture model = llama_architecture(testing::llama_config(), "config.json");
  CHECK(model.family == "llama");
  CHECK(model.vocabulary == 100);
  CHECK(model.hidden == 64);
  CHECK(model.layers.size() == 2);
  CHECK(model.heads == 4);
  CHECK(model.kv_heads == 2);
  CHECK(model.head_dim == 16);
  CHECK(model.layers[0].intermediate == 96);
  CHECK(model.context_length == 256);
  CHECK(model.norm == NormKind::rms);
  CHECK(model.norm_epsilon == 1e-5f);
  CHECK(model.layers[0].mlp == MlpKind::gated_silu);
  CHECK(model.layers[0].residual == Residual::sequential);
  CHECK_FALSE(model.tied_head);
  CHECK_FALSE((model.layers[0].qkv_bias || model.layers[0].output_bias || model.layers[0].mlp_bias || model.head_bias));
  CHECK(model.rotary_tables[0].pairing == RotaryPairing::halves);
  CHECK(model.bos == 1);
  CHECK(model.eos == std::vector<Token>{2});
}

TEST_CASE("what a llama config leaves out is what transformers takes", "[model][llama]") {
  const Architecture model = llama_architecture(Json{{"model_type", "llama"}}, "config.json");
  CHECK(model.vocabulary == 32000);
  CHECK(model.hidden == 4096);
  CHECK(model.layers.size() == 32);
  CHECK(model.heads == 32);
  CHECK(model.kv_heads == 32);
  CHECK(model.head_dim == 128);
  CHECK(model.layers[0].intermediate == 11008);
  CHECK(model.context_length == 2048);
  CHECK(model.norm_epsilon == 1e-6f);
  // Null is the same as absent.
  Json config = testing::llama_config();
  config["num_key_value_heads"] = nullptr;
  config["head_dim"] = nullptr;
  CHECK(llama_architecture(config, "x").kv_heads == 4);
  CHECK(llama_architecture(config, "x").head_dim == 16);
}

TEST_CASE("the biases of a llama follow its config", "[model][llama]") {
  Json config = testing::llama_config();
  config["attention_bias"] = true;
  CHECK(llama_architecture(config, "x").layers[0].qkv_bias);
  CHECK(llama_architecture(config, "x").layers[0].output_bias);
  CHECK_FALSE(llama_architecture(config, "x").layers[0].mlp_bias);
  config["mlp_bias"] = true;
  CHECK(llama_architecture(config, "x").layers[0].mlp_bias);
}

TEST_CASE("llama configs with wrong values are refused", "[model][llama]") {
  const auto code_of = [](const char* key, const Json& value) {
    Json config = testing::llama_config();
    config[key] = value;
    CAPTURE(key, value.dump());
    return test::error_of([&] { (void)describe_model(config, "config.json"); });
  };
  CHECK(code_of("hidden_act", "gelu") == ErrorCode::unsupported);
  CHECK(code_of("hidden_act", 3) == ErrorCode::malformed);
  CHECK(code_of("head_dim", 15) == ErrorCode::malformed);
  CHECK(code_of("head_dim", 1 << 30) == ErrorCode::malformed);
  CHECK(code_of("tie_word_embeddings", "yes") == ErrorCode::malformed);
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "head_dim", "intermediate_size", "max_position_embeddings"}) {
    for (const Json& wrong : {Json("64"), Json(-64), Json(0), Json(64.5), Json(1e300), Json(Json::array()), Json(true),
                              Json(std::uint64_t{1} << 63)}) {
      CHECK(code_of(key, wrong) == ErrorCode::malformed);
    }
  }
  for (const Json& wrong : {Json("1e-5"), Json(0), Json(-1e-5), Json(1e300)})
    CHECK(code_of("rms_norm_eps", wrong) == ErrorCode::malformed);
  CHECK(code_of("eos_token_id", 100) == std::nullopt);  // it can never be drawn
}
