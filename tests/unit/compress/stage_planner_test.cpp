// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/stage_planner.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>
#include <tulle/compress/recipe.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

StagePlan planned(const std::string& modifiers, const ModuleList& modules = tiny_modules()) {
  const Recipe recipe = parse_recipe("m_modifiers:\n" + modifiers, "r.yaml");
  return detail::StagePlanner(recipe.stages.at(0), modules).plan();
}

std::string error(const std::string& modifiers, const ModuleList& modules = tiny_modules()) {
  return error_of([&] { planned(modifiers, modules); });
}

bool has_note(const StagePlan& plan, std::string_view part) {
  for (const std::string& note : plan.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

const LayerPlan& up(const StagePlan& plan) {
  return plan.layers.at("model.layers.1.mlp.up_proj");
}

constexpr QuantizationPlan nearest_i8{QuantizationMethod::nearest, 8, 0, true, false, false};

}  // namespace

TEST_CASE("without targets the decoder layers are pruned", "[compress][stage_planner]") {
  const StagePlan plan = planned("  WandaPruningModifier: {sparsity: 0.5}\n");
  CHECK(plan.layers.size() == 14);
  CHECK_FALSE(plan.layers.contains("lm_head"));
  CHECK(up(plan).pruning->method == PruningMethod::wanda);
  CHECK_FALSE(up(plan).quantization);
  CHECK(plan.embedding_bits == 16);
}

TEST_CASE("the head is not pruned", "[compress][stage_planner]") {
  const StagePlan plan = planned("  WandaPruningModifier: {sparsity: 0.5, targets: Linear}\n");
  CHECK(plan.layers.size() == 14);
  CHECK(has_note(plan, "lm_head is not pruned: only decoder layers are"));
  CHECK(error("  WandaPruningModifier: {sparsity: 0.5, targets: lm_head}\n").find("name no linear layer") !=
        std::string::npos);
}

TEST_CASE("ignore wins over targets", "[compress][stage_planner]") {
  CHECK(planned("  WandaPruningModifier: {sparsity: 0.5, targets: Linear, ignore: [lm_head, LlamaMLP]}\n")
            .layers.size() == 8);
  const StagePlan plan =
      planned("  QuantizationModifier: {scheme: W8A8, ignore: [lm_haed, 're:.*down_proj', LlamaRMSNorm]}\n");
  CHECK(plan.layers.size() == 13);
  CHECK(has_note(plan, "ignore: \"lm_haed\" names no module; was lm_head meant?"));
  CHECK_FALSE(has_note(plan, "LlamaRMSNorm"));
}

TEST_CASE("pruning and quantization join in one plan, in either order", "[compress][stage_planner]") {
  const std::string pruning = "  SparseGPTModifier: {sparsity: 0.5}\n",
                    codes = "  QuantizationModifier: {scheme: W8A8}\n";
  const StagePlan plan = planned(pruning + codes);
  CHECK(up(plan).pruning->method == PruningMethod::sparsegpt);
  CHECK(up(plan).quantization == nearest_i8);
  CHECK(up(plan).target == TargetPlan{0, 0, false, false, {0, 0, 0.01}});
  CHECK(up(planned(codes + pruning)) == up(plan));
  CHECK(plan.layers.at("lm_head").quantization == nearest_i8);
  CHECK_FALSE(plan.layers.at("lm_head").pruning);
}

TEST_CASE("quantize: true rounds in the loop of SparseGPT", "[compress][stage_planner]") {
  QuantizationPlan jointly = nearest_i8;
  jointly.jointly = true;
  const StagePlan alone = planned("  SparseGPTModifier: {sparsity: 0.5, quantize: true}\n");
  CHECK(up(alone).quantization == jointly);
  CHECK(has_note(alone, "quantize: true without a QuantizationModifier"));
  const StagePlan both = planned(
      "  QuantizationModifier: {scheme: W8A8, ignore: ['re:.*up_proj']}\n"
      "  SparseGPTModifier: {sparsity: 0.5, quantize: true}\n");
  CHECK_FALSE(up(both).quantization);
  CHECK(both.layers.at("model.layers.0.mlp.down_proj").quantization == jointly);
  CHECK(both.layers.at("lm_head").quantization == nearest_i8);
  const StagePlan dense = planned("  SparseGPTModifier: {sparsity: 0, quantize: true}\n");
  CHECK_FALSE(up(dense).pruning);
  CHECK(up(dense).quantization->method == QuantizationMethod::gptq);
  CHECK_FALSE(up(dense).quantization->jointly);
}

TEST_CASE("the target of the modifier that prunes holds", "[compress][stage_planner]") {
  const std::string gptq = "  GPTQModifier: {scheme: W4A16, dampening_frac: 0.1, targets: ['re:.*down_proj']}\n";
  const auto down = [](const StagePlan& plan) { return plan.layers.at("model.layers.0.mlp.down_proj"); };
  CHECK(down(planned(gptq)).target == TargetPlan{0, 0, false, false, {0, 0, 0.1}});
  CHECK(down(planned(gptq)).quantization == QuantizationPlan{QuantizationMethod::gptq, 4, 128, true, false, false});
  const StagePlan alps = planned("  AlpsModifier: {mask_structure: '8:16'}\n" + gptq);
  CHECK(down(alps).target == TargetPlan{});
  CHECK(has_note(alps, "the target and damping of the modifier that prunes"));
  CHECK(down(planned("  WandaPruningModifier: {sparsity: 0.5}\n" + gptq)).target.damping == Damping{0, 0, 0.1});
}

TEST_CASE("codes by descent have Tulle's own target, or that of the modifier that prunes",
          "[compress][stage_planner]") {
  const std::string descent = "  DescentModifier: {scheme: {weights: {num_bits: 4, group_size: 32}}}\n";
  CHECK(up(planned(descent)).quantization->method == QuantizationMethod::descent);
  CHECK(up(planned(descent)).target.damping == Damping{0.2, 0.2, 0});
  CHECK(up(planned("  AlpsModifier: {mask_structure: '8:16'}\n" + descent)).target == TargetPlan{});
}

TEST_CASE("zero must be a code of pruned layers", "[compress][stage_planner]") {
  const std::string codes =
      "  QuantizationModifier: {targets: [Linear], scheme: {weights: {num_bits: 4, group_size: 32, symmetric: "
      "false}}}\n";
  CHECK_FALSE(up(planned(codes)).quantization->symmetric);
  const StagePlan plan = planned("  WandaPruningModifier: {sparsity: 0.5}\n" + codes);
  CHECK(up(plan).quantization->symmetric);
  CHECK_FALSE(plan.layers.at("lm_head").quantization->symmetric);
  CHECK(has_note(plan, "so that zero is a code"));
}

TEST_CASE("sparsities may differ from layer to layer", "[compress][stage_planner]") {
  const StagePlan plan = planned("  SparseGPTModifier: {sparsity: [0.25, 0.75], ignore: [LlamaAttention]}\n");
  CHECK(plan.layers.at("model.layers.0.mlp.up_proj").pruning->sparsity == 0.25);
  CHECK(up(plan).pruning->sparsity == 0.75);
  CHECK(planned("  SparseGPTModifier: {sparsity: [0, 0.75]}\n").layers.size() == 7);
  CHECK(planned("  SparseGPTModifier: {sparsity: [0.6], targets: [model.layers.1]}\n").layers.size() == 7);
  CHECK(error("  SparseGPTModifier: {sparsity: [0.5, 0.5, 0.5]}\n") ==
        "invalid_argument: r.yaml, line 2: SparseGPTModifier: 3 sparsities for 2 decoder layers with targets");
}

TEST_CASE("the most specific group quantizes a layer", "[compress][stage_planner]") {
  const StagePlan plan = planned(
      "  QuantizationModifier:\n    config_groups:\n      W8A8: [Linear]\n      b: {targets: ['re:.*up_proj'], "
      "weights: null}\n"
      "      c: {targets: [model.layers.1.mlp.up_proj], weights: {num_bits: 4, group_size: 32}}\n");
  CHECK(up(plan).quantization->bits == 4);
  CHECK_FALSE(plan.layers.contains("model.layers.0.mlp.up_proj"));
  CHECK(plan.layers.at("lm_head").quantization->bits == 8);
}

TEST_CASE("embeddings have 8 or 16 bits, and a tied head goes with them", "[compress][stage_planner]") {
  const StagePlan plain = planned("  QuantizationModifier: {}\n");
  CHECK(plain.embedding_bits == 8);
  CHECK(has_note(plain, "vLLM takes no int8 embedding"));
  CHECK(plain.layers.contains("lm_head"));
  const StagePlan tied = planned("  QuantizationModifier: {scheme: W8A8}\n", tiny_modules(2, true));
  CHECK(tied.embedding_bits == 8);
  CHECK(has_note(tied, "a tied matrix has one form"));
  CHECK_FALSE(tied.layers.contains("lm_head"));
  const std::string codes =
      "  QuantizationModifier: {targets: [Linear], scheme: {weights: {num_bits: 4, group_size: 32}}}\n";
  CHECK(planned(codes, tiny_modules(2, true)).embedding_bits == 16);
  CHECK(has_note(planned(codes, tiny_modules(2, true)), "embeddings have 8 or 16"));
  const StagePlan pruned = planned("  WandaPruningModifier: {sparsity: 0.5, targets: Linear}\n", tiny_modules(2, true));
  CHECK(pruned.layers.size() == 14);
  CHECK(has_note(pruned, "lm_head is not pruned"));
}

TEST_CASE("a plan of forms asks for them, alone in its stage", "[compress][stage_planner]") {
  const StagePlan plan = planned("  PlanModifier: {speedup: 2, forms: [int8, 2:4-int8], ignore: [LlamaMLP]}\n");
  REQUIRE(plan.forms);
  CHECK(plan.forms->layers.size() == 8);
  CHECK(plan.forms->forms.size() == 2);
  CHECK(plan.layers.empty());
  CHECK(error("  PlanModifier: {speedup: 2}\n  GPTQModifier: {scheme: W8A16}\n") ==
        "invalid_argument: r.yaml, line 2: PlanModifier must be the only modifier of its stage");
}

TEST_CASE("modifiers that do not fit each other or the model are errors", "[compress][stage_planner]") {
  CHECK(
      error("  WandaPruningModifier: {sparsity: 0.5}\n  AlpsModifier: {sparsity: 0.5, targets: [model.layers.1]}\n") ==
      "invalid_argument: r.yaml, line 3: AlpsModifier: model.layers.1.self_attn.q_proj is already a target of r.yaml, "
      "line 2: WandaPruningModifier");
  CHECK(error("  QuantizationModifier: {scheme: W8A8}\n  GPTQModifier: {scheme: W8A8}\n").find("already quantized") !=
        std::string::npos);
  CHECK(error("  SmoothQuantModifier: {}\n  LogarithmicEqualizationModifier: {}\n").find("smooths twice") !=
        std::string::npos);
  CHECK(
      error("  GPTQModifier: {scheme: W4A16}\n") ==
      "invalid_argument: r.yaml, line 2: GPTQModifier: model.layers.0.self_attn.q_proj has 64 columns, no multiple of "
      "the 128 of a group; fitting sizes: 64, 32");
  CHECK(error("  WandaPruningModifier: {sparsity: 0.5, targets: [model.layer.0]}\n") ==
        "not_found: r.yaml, line 2: WandaPruningModifier: the target \"model.layer.0\" names no module of this model; "
        "did "
        "you mean model.layers.0, model?");
  CHECK(error("  WandaPruningModifier: {sparsity: 0.5, targets: [Liner]}\n").ends_with("did you mean Linear?"));
  CHECK(error("  WandaPruningModifier: {sparsity: 0.5, targets: [LlamaRMSNorm]}\n").find("name no linear layer") !=
        std::string::npos);
  CHECK(error("  WandaPruningModifier: {sparsity: 0.5, ignore: [Linear]}\n").find("name no linear layer") !=
        std::string::npos);
  CHECK(error("  WandaPruningModifier: {mask_structure: '3:7'}\n").find("no multiple of the 7 of 3:7") !=
        std::string::npos);
  CHECK(error("  QuantizationModifier: {scheme: W8A8, ignore: [Linear]}\n").find("changes no layer") !=
        std::string::npos);
  CHECK(error("  QuantizationModifier: {scheme: UNQUANTIZED}\n").find("changes no layer") != std::string::npos);
}

TEST_CASE("a stage may refine what its other modifiers compress", "[compress][stage_planner]") {
  const std::string pruning = "  AlpsModifier: {sparsity: 0.5}\n";
  CHECK_FALSE(planned(pruning).refinement);
  const StagePlan plan =
      planned(pruning + "  RefineModifier: {epochs: 2, batch_size: 4, learning_rate: 0.01, seed: 3}\n");
  CHECK(plan.refinement == RefinementPlan{.epochs = 2, .batch = 4, .rate = 0.01, .seed = 3});
  CHECK(planned(pruning + "  RefineModifier: {}\n").refinement == RefinementPlan());
  CHECK(error(pruning + "  RefineModifier: {epochs: 0}\n").find("epochs") != std::string::npos);
  CHECK(error("  RefineModifier: {}\n").find("changes no layer") != std::string::npos);
}
