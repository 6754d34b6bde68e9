// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/smooth_quant_plan.hpp>

#include <string>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

using Mapping = SmoothQuantPlan::Mapping;

SmoothQuantModifier modifier(std::vector<std::string> balanced, std::string smoothed) {
  SmoothQuantModifier result;
  SmoothQuantModifier::Mapping mapping;
  for (std::string& each : balanced) mapping.balanced.emplace_back(std::move(each), "r");
  mapping.smoothed.emplace_back(std::move(smoothed), "r");
  result.mappings.push_back(std::move(mapping));
  return result;
}

std::string error(const SmoothQuantModifier& each) {
  return error_of([&] { plan_smooth_quant(each, tiny_modules(), "here"); });
}

}  // namespace

TEST_CASE("by default each norm is smoothed against the layers that read it", "[compress][smooth_quant_plan]") {
  const SmoothQuantPlan plan = plan_smooth_quant({0.8, false, {}, {}}, tiny_modules(), "here");
  CHECK(plan.strength == 0.8);
  REQUIRE(plan.mappings.size() == 4);
  CHECK(plan.mappings[1] == Mapping{{"model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.k_proj",
                                     "model.layers.1.self_attn.v_proj"},
                                    "model.layers.1.input_layernorm"});
  CHECK(plan.mappings[2] == Mapping{{"model.layers.0.mlp.gate_proj", "model.layers.0.mlp.up_proj"},
                                    "model.layers.0.post_attention_layernorm"});
  const SmoothQuantPlan parallel = plan_smooth_quant({}, tiny_modules(1, false, "codegen"), "here");
  REQUIRE(parallel.mappings.size() == 1);
  CHECK(parallel.mappings[0] ==
        Mapping{{"transformer.h.0.attn.qkv_proj", "transformer.h.0.mlp.fc_in"}, "transformer.h.0.ln_1"});
}

TEST_CASE("a model without norms in front of its layers needs mappings", "[compress][smooth_quant_plan]") {
  ModuleList list = tiny_modules();
  list.attention_norm.clear();
  CHECK(plan_smooth_quant({}, list, "here").mappings.size() == 2);
  list.mlp_norm.clear();
  CHECK(error_of([&] { plan_smooth_quant({}, list, "here"); }).find("give mappings") != std::string::npos);
}

TEST_CASE("mappings pair layers of the same decoder layer", "[compress][smooth_quant_plan]") {
  const SmoothQuantPlan plan = plan_smooth_quant(modifier({"re:.*down_proj"}, "re:.*up_proj"), tiny_modules(), "here");
  REQUIRE(plan.mappings.size() == 2);
  CHECK(plan.mappings[1] == Mapping{{"model.layers.1.mlp.down_proj"}, "model.layers.1.mlp.up_proj"});
  SmoothQuantModifier ignoring = modifier({"re:.*down_proj"}, "re:.*up_proj");
  ignoring.ignore.emplace_back("model.layers.0", "r");
  CHECK(plan_smooth_quant(ignoring, tiny_modules(), "here").mappings.size() == 1);
  const auto left_by = [](const std::string& ignored) {
    SmoothQuantModifier one;
    one.ignore.emplace_back(ignored, "r");
    return plan_smooth_quant(one, tiny_modules(), "here");
  };
  CHECK(left_by("model.layers.0").mappings.size() == 2);
  CHECK(left_by("re:.*post_attention_layernorm").mappings.size() == 2);
  const SmoothQuantPlan with_keys = left_by("re:.*k_proj");  // a reader alone cannot be left out
  CHECK((with_keys.mappings.size() == 4 && with_keys.mappings[0].balanced.size() == 3));
}

TEST_CASE("experts of a mixture are refused, not left out", "[compress][smooth_quant_plan]") {
  const ModuleList mixture = tiny_modules(2, false, "mixtral");
  const std::string norm = "re:.*post_attention_layernorm";
  for (const SmoothQuantModifier& each : {SmoothQuantModifier(), modifier({"re:.*experts.*w1"}, norm)}) {
    const std::string found = error_of([&] { plan_smooth_quant(each, mixture, "here"); });
    CHECK(found.starts_with("unsupported: here: the experts of a mixture (model.layers.0."));
  }
  const SmoothQuantModifier attention = modifier({"re:.*q_proj", "re:.*k_proj", "re:.*v_proj"}, "re:.*input_layernorm");
  CHECK(plan_smooth_quant(attention, mixture, "here").mappings.size() == 2);
}

TEST_CASE("mappings that name no pair, or a wrong one, are errors", "[compress][smooth_quant_plan]") {
  CHECK(error(modifier({"re:.*down_proj"}, "nothing")) ==
        "not_found: here: a mapping names no two layers of one decoder layer");
  CHECK(error(modifier({"lm_head"}, "model.norm")).starts_with("not_found: "));
  CHECK(error(modifier({"re:.*down_proj"}, "re:.*norm")).find("smooths both") != std::string::npos);
  CHECK(error(modifier({"re:.*q_proj"}, "re:.*input_layernorm")) ==
        "invalid_argument: here: model.layers.0.self_attn.k_proj reads model.layers.0.input_layernorm too; name it in "
        "the mapping");
  CHECK(error(modifier({"re:.*gate_proj", "re:.*up_proj"}, "re:.*input_layernorm")).find("q_proj reads") !=
        std::string::npos);
  SmoothQuantModifier twice = modifier({"re:.*gate_proj", "re:.*up_proj"}, "re:.*post_attention_layernorm");
  twice.mappings.push_back(twice.mappings.front());
  CHECK(error(twice).find("two mappings smooth model.layers.0.post_attention_layernorm") != std::string::npos);
  const ModuleList gemma = tiny_modules(2, false, "gemma2");  // whose post_attention_layernorm no linear layer reads
  const SmoothQuantModifier of_llama = modifier({"re:.*gate_proj", "re:.*up_proj"}, "re:.*post_attention_layernorm");
  CHECK(error_of([&] { plan_smooth_quant(of_llama, gemma, "here"); }).find("gate_proj does not read") !=
        std::string::npos);
  CHECK(
      error(modifier({"re:.*o_proj"}, "re:.*v_proj")) ==
      "invalid_argument: here: model.layers.0.self_attn.v_proj gives 32 channels, but model.layers.0.self_attn.o_proj "
      "has 64 columns");
}
