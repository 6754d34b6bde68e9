// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/lora/lora_config.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

LoraConfig config_of(const std::string& members) {
  return {parse_json(R"({"peft_type": "LORA")" + (members.empty() ? "" : ", " + members) + "}", "test"), "test"};
}

std::optional<ErrorCode> code_of(const std::string& members) {
  return test::error_of([&] { (void)config_of(members); });
}

}  // namespace

TEST_CASE("the scale of a LoRA matrix is alpha over its rank, or over the rank's root", "[format][lora_config]") {
  CHECK(config_of("").scale("any", 8) == 1.f);
  CHECK(config_of(R"("r": 4, "lora_alpha": 6, "use_dora": false, "arrow_config": null)").scale("any", 4) == 1.5f);
  CHECK(config_of(R"("r": 4, "lora_alpha": 6, "use_rslora": true)").scale("any", 4) == 3.f);
}

TEST_CASE("patterns match a module's name or its end behind a dot", "[format][lora_config]") {
  const LoraConfig config = config_of(R"("r": 4, "lora_alpha": 8, "rank_pattern": {"up_proj": 2},)"
                                      R"("alpha_pattern": {"layers.1.q_proj": 2.5, "^a.k": 1})");
  CHECK(config.scale("model.layers.0.q_proj", 4) == 2.f);
  CHECK(config.scale("model.layers.1.q_proj", 4) == 0.625f);
  CHECK(config.scale("layers.1.q_proj", 4) == 0.625f);
  CHECK(config.scale("model.sublayers.1.q_proj", 4) == 2.f);
  CHECK(config.scale("mlp.up_proj", 2) == 4.f);
  CHECK(config.scale("mlp.gate_up_proj", 4) == 2.f);
  CHECK(config.scale("a.k", 4) == 0.25f);
  CHECK(config.scale("b.a.k", 4) == 2.f);
  CHECK(test::error_of([&] { (void)config.scale("mlp.up_proj", 4); }) == ErrorCode::malformed);
  const LoraConfig twice = config_of(R"("r": 4, "alpha_pattern": {"q": 2, "a.q": 3, "k": 1, "a.k": 1})");
  CHECK(test::error_of([&] { (void)twice.scale("a.q", 4); }) == ErrorCode::unsupported);
  CHECK(twice.scale("a.k", 4) == 0.25f);
  CHECK(code_of(R"("rank_pattern": {"layers.[0-3].q": 4})") == ErrorCode::unsupported);
  CHECK(code_of(R"("alpha_pattern": {"": 4})") == ErrorCode::unsupported);
}

TEST_CASE("adapters that are no sum are refused by name", "[format][lora_config]") {
  for (const std::string key : {"use_dora", "lora_bias", "use_qalora"}) {
    CAPTURE(key);
    CHECK(code_of("\"" + key + "\": true") == ErrorCode::unsupported);
    CHECK_THAT(test::message_of([&] { (void)config_of("\"" + key + "\": true"); }),
               ContainsSubstring(key) && ContainsSubstring("merge_and_unload"));
  }
  CHECK(code_of(R"("bias": "all")") == ErrorCode::unsupported);
  CHECK(code_of(R"("target_parameters": ["experts.gate_up_proj"])") == ErrorCode::unsupported);
  CHECK(code_of(R"("trainable_token_indices": {"embed_tokens": [1]})") == ErrorCode::unsupported);
  CHECK(code_of(R"("layer_replication": [[0, 2]])") == ErrorCode::unsupported);
  CHECK(code_of(R"("init_lora_weights": "pissa_niter_4")") == ErrorCode::unsupported);
  CHECK(code_of(R"("init_lora_weights": "gaussian")") == std::nullopt);
  const auto type_of = [](const char* text) {
    return test::error_of([&] { (void)LoraConfig(parse_json(text, ""), ""); });
  };
  CHECK(type_of("{}") == ErrorCode::unsupported);
  CHECK(type_of(R"({"peft_type": "IA3"})") == ErrorCode::unsupported);
}

TEST_CASE("an adapter's config with wrong values is malformed", "[format][lora_config]") {
  for (const std::string members :
       {R"("r": 0)", R"("r": -1)", R"("r": 2.5)", R"("r": "8")", R"("r": 1e30)", R"("lora_alpha": "16")",
        R"("lora_alpha": [1])", R"("use_rslora": 1)", R"("rank_pattern": [1])", R"("rank_pattern": {"q": 1.5})",
        R"("alpha_pattern": {"q": "1"})", R"("bias": 3)", R"("peft_version": 1, "init_lora_weights": 7)"}) {
    CAPTURE(members);
    CHECK(code_of(members) == ErrorCode::malformed);
  }
  const LoraConfig huge = config_of(R"("r": 1, "lora_alpha": 1e300)");
  CHECK(test::error_of([&] { (void)huge.scale("q", 1); }) == ErrorCode::malformed);
}
