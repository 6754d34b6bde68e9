// SPDX-License-Identifier: Apache-2.0
/// \file What a stage of a recipe does with each linear layer of a model (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/mask_structure.hpp>
#include <tulle/compress/modifier.hpp>
#include <tulle/compress/module_list.hpp>
#include <tulle/compress/sparsity_profile.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/error.hpp>

namespace tulle {

/// Applies a stage's modifiers to the modules of a model.
/// Errors: not_found for targets that name nothing; invalid_argument for modifiers that contradict each other or do not
/// fit the model's shapes. Messages name the recipe's line.
inline StagePlan plan_stage(const RecipeStage& stage, const ModuleList& modules) {
  return detail::StagePlanner(stage, modules).plan();
}

/// What `--sparsity`, `--structure` and `--bits` mean: every linear layer of the decoder layers with Tulle's own
/// methods; head and embedding stay. `sparsity` none with a structure of "": not pruned. `bits`: 16 (not quantized), 8
/// (one scale per row) or 4 (symmetric, groups of 32 columns).
/// Errors: invalid_argument, also where nothing is to be done.
inline StagePlan plan_of_flags(const ModuleList& modules, std::optional<double> sparsity, std::string_view structure,
                               std::size_t bits) {
  LayerPlan plan;
  if (sparsity || !structure.empty()) {
    if (sparsity && !(*sparsity > 0 && *sparsity < 1)) {
      fail(ErrorCode::invalid_argument, "--sparsity must be above 0 and below 1");
    }
    set_sparsity(plan.pruning.emplace(), parse_mask_structure(structure, "--structure"), sparsity, MaskCount::kept,
                 "--sparsity");
  }
  if (bits != 16 && bits != 8 && bits != 4) {
    fail(ErrorCode::invalid_argument, "--bits must be 16, 8 or 4, not ", bits);
  }
  if (bits != 16) {
    plan.quantization.emplace().bits = bits;
    plan.quantization->group = bits == 4 ? 32 : 0;
  }
  if (!plan.pruning && !plan.quantization) {
    fail(ErrorCode::invalid_argument, "nothing to do: give --recipe, --sparsity, --structure, or --bits 8 or 4");
  }
  plan = with_own_target(plan);
  StagePlan stage;
  for (const Module& module : modules.modules) {
    if (module.kind != Module::Kind::linear || !module.layer) continue;
    detail::require_shape(module, plan, "--structure and --bits");
    stage.layers.emplace(module.name, plan);
  }
  return stage;
}

/// What `--bytes-per-weight` and `--speedup` mean: forms for every linear layer of the decoder layers.
/// Errors: invalid_argument unless at least one of them is given, above 0.
inline StagePlan plan_of_budget(const ModuleList& modules, const FormBudget& budget) {
  const bool is_given = budget.limits_bytes() || budget.limits_time();
  if (!is_given || !(budget.bytes_per_weight.value_or(1) > 0) || !(budget.speedup.value_or(1) > 0)) {
    fail(ErrorCode::invalid_argument, "give --bytes-per-weight or --speedup or both, numbers above 0");
  }
  StagePlan stage;
  FormRequest& request = stage.forms.emplace();
  request.budget = budget;
  for (const Module& module : modules.modules) {
    if (module.kind == Module::Kind::linear && module.layer) request.layers.push_back(module.name);
  }
  return stage;
}

namespace detail {

/// Whether layers of sparsities of their own are better (measured: compress/README.md) and possible.
inline bool should_follow_outliers(const StagePlan& plan, const ModuleList& modules) {
  constexpr double least = 0.6;
  const bool has_experts = std::any_of(modules.modules.begin(), modules.modules.end(),
                                       [](const Module& module) { return module.is_expert; });
  return !has_experts && std::all_of(plan.layers.begin(), plan.layers.end(), [&](const auto& layer) {
    const std::optional<PruningPlan>& pruning = layer.second.pruning;
    return pruning && pruning->structure.kind != SparsityStructure::Kind::balanced && pruning->sparsity >= least;
  });
}

}  // namespace detail

/// What `--allocation` does with the plan of flags. `profile`: "uniform", "rising", "owl", or "auto": owl from 60 % of
/// unstructured zeros on, uniform below, with N:M and for mixtures of experts.
/// Errors: invalid_argument for other names, and for what has no sparsity that may differ.
inline void allocate_sparsity(StagePlan& plan, const ModuleList& modules, std::string_view profile) {
  if (profile == "auto") profile = detail::should_follow_outliers(plan, modules) ? "owl" : "uniform";
  if (profile == "uniform") return;
  if (profile != "rising" && profile != "owl") {
    fail(ErrorCode::invalid_argument, "--allocation must be auto, uniform, rising or owl, not \"", profile, "\"");
  }
  std::size_t layers = 0;
  for (const Module& module : modules.modules) layers = std::max(layers, module.layer ? *module.layer + 1 : 0);
  for (const Module& module : modules.modules) {
    const auto found = plan.layers.find(module.name);
    if (found == plan.layers.end()) continue;
    std::optional<PruningPlan>& pruning = found->second.pruning;
    if (!pruning || pruning->structure.kind == SparsityStructure::Kind::balanced) {
      fail(ErrorCode::invalid_argument, "--allocation needs --sparsity, and no structure of N:M");
    }
    if (profile == "owl") pruning->owl.emplace();
    if (profile == "rising")
      pruning->sparsity = rising_sparsities(layers, pruning->sparsity, default_rise)[module.layer.value_or(0)];
  }
}

}  // namespace tulle
