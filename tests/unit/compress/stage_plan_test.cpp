// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/stage_plan.hpp>

#include <optional>
#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>
#include <tulle/compress/recipe.hpp>
#include <tulle/core/mapped_file.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

/// A file of tests/golden/recipes. guide.yaml is the recipe of SparseML's guide to one-shot compression, key for key;
/// llm_compressor.yaml says the same in the words of llm-compressor.
Recipe golden(const std::string& name) {
  const MappedFile file(std::string(TULLE_GOLDEN) + "/recipes/" + name);
  return parse_recipe(file.text(), name);
}

StagePlan flags(std::optional<double> sparsity, std::string_view structure, std::size_t bits) {
  return plan_of_flags(tiny_modules(), sparsity, structure, bits);
}

std::string error(std::optional<double> sparsity, std::string_view structure, std::size_t bits) {
  return error_of([&] { flags(sparsity, structure, bits); });
}

const LayerPlan& up(const StagePlan& plan) {
  return plan.layers.at("model.layers.1.mlp.up_proj");
}

}  // namespace

TEST_CASE("the guide's recipe runs as it stands", "[compress][stage_plan]") {
  const Recipe recipe = golden("guide.yaml");
  REQUIRE(recipe.stages.size() == 1);
  CHECK(recipe.stages[0].name == "compression");
  const StagePlan plan = plan_stage(recipe.stages[0], tiny_modules(22));
  CHECK(plan.layers.size() == 22 * 7 + 1);
  LayerPlan expected;
  expected.pruning = PruningPlan{PruningMethod::sparsegpt, 0.5, {}, 128, false, std::nullopt, false};
  expected.quantization = QuantizationPlan{QuantizationMethod::nearest, 8, 0, true, false, true};
  expected.target = TargetPlan{0, 0, false, false, {0, 0, 0.01}};
  for (const auto& [name, layer] : plan.layers) {
    INFO(name);
    if (name != "lm_head") CHECK(layer == expected);
  }
  const LayerPlan& head = plan.layers.at("lm_head");
  CHECK_FALSE(head.pruning);
  CHECK(head.quantization == QuantizationPlan{QuantizationMethod::nearest, 8, 0, true, false, false});
  CHECK(plan.embedding_bits == 8);
  CHECK_FALSE(plan.smooth_quant);
  std::string notes;
  for (const std::string& note : plan.notes) notes += note + "\n";
  INFO(notes);
  CHECK(plan.notes.size() == 6);
  for (const char* part :
       {"post_oneshot_calibration has no meaning here", "scheme_overrides.Linear: input activations are asymmetric",
        "8-bit codes are symmetric here", "one scale per row in place of one per matrix",
        "ignore: no module with weights is named \"LlamaRotaryEmbedding\", \"SiLUActivation\", \"QuantizableMatMul\"",
        "vLLM takes no int8 embedding"}) {
    CHECK(notes.find(part) != std::string::npos);
  }
}

TEST_CASE("the same in llm-compressor's words has two stages", "[compress][stage_plan]") {
  const Recipe recipe = golden("llm_compressor.yaml");
  REQUIRE(recipe.stages.size() == 2);
  const StagePlan sparse = plan_stage(recipe.stages[0], tiny_modules());
  CHECK(sparse.layers.size() == 14);
  CHECK_FALSE(up(sparse).quantization);
  CHECK(sparse.notes.empty());
  const StagePlan quantized = plan_stage(recipe.stages[1], tiny_modules());
  CHECK(quantized.layers.size() == 15);
  CHECK_FALSE(up(quantized).pruning);
  CHECK(quantized.embedding_bits == 8);
}

TEST_CASE("stages, variables and lists together", "[compress][stage_plan]") {
  const Recipe recipe = golden("variables.yaml");
  REQUIRE(recipe.stages.size() == 2);
  const StagePlan smooth = plan_stage(recipe.stages[0], tiny_modules());
  CHECK(smooth.layers.empty());
  REQUIRE(smooth.smooth_quant);
  CHECK(smooth.smooth_quant->mappings.size() == 2);
  const StagePlan sparse = plan_stage(recipe.stages[1], tiny_modules());
  CHECK(up(sparse).pruning->method == PruningMethod::alps);
  CHECK(up(sparse).target.damping == Damping{0.1, 0.1, 0});
  CHECK(up(sparse).quantization == QuantizationPlan{QuantizationMethod::gptq, 4, 32, true, false, false});
  CHECK(sparse.layers.at("model.layers.0.self_attn.q_proj").pruning->sparsity == 0.6);
}

TEST_CASE("flags mean Tulle's own methods on the decoder layers", "[compress][stage_plan]") {
  const StagePlan pruned = flags(0.6, "", 16);
  CHECK(pruned.layers.size() == 14);
  CHECK(up(pruned).pruning == PruningPlan{PruningMethod::alps, 0.6, {}, 128, false, std::nullopt, true});
  CHECK(up(pruned).target == TargetPlan{});
  CHECK_FALSE(up(pruned).quantization);
  const StagePlan both = flags(std::nullopt, "8:16-gap4", 4);
  CHECK(up(both).pruning->sparsity == 0.5);
  CHECK(up(both).pruning->structure.max_gap == 4);
  CHECK(up(both).quantization == QuantizationPlan{QuantizationMethod::descent, 4, 32, true, true, false});
  CHECK(up(both).target == TargetPlan{});
  CHECK(up(flags(std::nullopt, "", 4)).target.damping == Damping{0.2, 0.2, 0});
  const StagePlan codes = flags(std::nullopt, "", 8);
  CHECK_FALSE(up(codes).pruning);
  CHECK(up(codes).quantization == QuantizationPlan{QuantizationMethod::descent, 8, 0, true, true, false});
  CHECK(codes.embedding_bits == 16);
}

TEST_CASE("flags that mean nothing or contradict each other are errors", "[compress][stage_plan]") {
  CHECK(error(std::nullopt, "", 16).starts_with("invalid_argument: nothing to do"));
  CHECK(error(0.6, "8:16", 8).find("contradicts 8:16") != std::string::npos);
  CHECK(error(0.0, "", 8) == "invalid_argument: --sparsity must be above 0 and below 1");
  CHECK(error(1.0, "", 8) == "invalid_argument: --sparsity must be above 0 and below 1");
  CHECK(error(0.5, "", 5) == "invalid_argument: --bits must be 16, 8 or 4, not 5");
  CHECK(error(0.5, "8-16", 8).starts_with("invalid_argument: --structure: \"8-16\""));
  CHECK(error(std::nullopt, "row", 8).find("the sparsity is missing") != std::string::npos);
  CHECK(error(std::nullopt, "3:7", 16).find("no multiple of the 7") != std::string::npos);
}

TEST_CASE("sparsity may rise from layer to layer or follow outliers", "[compress][stage_plan]") {
  CHECK(rising_sparsities(3, 0.6, 0.1) == std::vector<double>{0.5, 0.6, 0.7});
  CHECK(rising_sparsities(3, 0.95, 0.1)[0] == Catch::Approx(0.91));  // and 0.99: their mean is what was asked for
  CHECK(rising_sparsities(3, 0.999, 0.1) == std::vector<double>{0.999, 0.999, 0.999});
  const std::vector<double> outliers{0.01, 0.03, 0.02};
  const std::vector<double> differences = owl_differences(outliers, 0.1);
  CHECK(differences[0] == Catch::Approx(0.1));
  CHECK(differences[1] == Catch::Approx(-0.1));
  CHECK(differences[2] == Catch::Approx(0).margin(1e-12));
  StagePlan plan = plan_of_flags(tiny_modules(), 0.6, "", 16);
  allocate_sparsity(plan, tiny_modules(), "rising");
  CHECK(plan.layers.at("model.layers.0.mlp.up_proj").pruning->sparsity == Catch::Approx(0.55));
  CHECK(plan.layers.at("model.layers.1.mlp.up_proj").pruning->sparsity == Catch::Approx(0.65));
  for (const auto& [sparsity, follows] : {std::pair{0.5, false}, {0.6, true}, {0.9, true}}) {
    StagePlan automatic = plan_of_flags(tiny_modules(), sparsity, "row", 8);
    allocate_sparsity(automatic, tiny_modules(), "auto");
    for (const auto& [name, layer] : automatic.layers) CHECK(layer.pruning->owl.has_value() == follows);
  }
  for (StagePlan other : {plan_of_flags(tiny_modules(), {}, "4:16", 16), plan_of_flags(tiny_modules(), {}, "", 8)}) {
    const StagePlan before = other;
    allocate_sparsity(other, tiny_modules(), "auto");
    CHECK(other.layers == before.layers);
  }
  StagePlan balanced = plan_of_flags(tiny_modules(), {}, "2:4", 16);
  CHECK_THROWS_WITH(allocate_sparsity(balanced, tiny_modules(), "owl"), Catch::Matchers::ContainsSubstring("N:M"));
}
