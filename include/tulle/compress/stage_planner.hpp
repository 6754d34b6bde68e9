// SPDX-License-Identifier: Apache-2.0
/// \file Joins the modifiers of a stage into one plan per linear layer (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/compress/mask_structure.hpp>
#include <tulle/compress/modifier.hpp>
#include <tulle/compress/module_list.hpp>
#include <tulle/compress/quantization_scheme.hpp>
#include <tulle/compress/recipe_targets.hpp>
#include <tulle/compress/refinement_plan.hpp>
#include <tulle/compress/smooth_quant_plan.hpp>
#include <tulle/compress/sparsity_profile.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/near_names.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

struct StagePlan {
  std::map<std::string, LayerPlan> layers;  ///< by the linear layer's name; others stay as they are
  std::size_t embedding_bits = 16;          ///< 8: int8 with one scale per row, 16: stays. A tied head goes with it
  std::optional<SmoothQuantPlan> smooth_quant;
  std::optional<FormRequest> forms;          ///< still to be chosen (plan/form_plan.hpp)
  std::optional<RefinementPlan> refinement;  ///< of every block once its matrices are compressed
  std::vector<std::string> notes;            ///< what is ignored, or done otherwise than the recipe says
};

namespace detail {

/// Errors: invalid_argument where the columns of a layer are no multiple of its groups.
inline void require_shape(const Module& module, const LayerPlan& plan, std::string_view place) {
  if (plan.pruning && plan.pruning->structure.of != 0 && module.columns % plan.pruning->structure.of != 0) {
    fail(ErrorCode::invalid_argument, place, ": ", module.name, " has ", module.columns,
         " columns, no multiple of the ", plan.pruning->structure.of, " of ",
         mask_structure_text(plan.pruning->structure));
  }
  if (!plan.quantization || plan.quantization->group == 0 || module.columns % plan.quantization->group == 0) return;
  std::string fitting;
  for (const std::size_t group : {128, 64, 32}) {
    if (module.columns % group == 0) fitting += (fitting.empty() ? "" : ", ") + std::to_string(group);
  }
  fail(ErrorCode::invalid_argument, place, ": ", module.name, " has ", module.columns, " columns, no multiple of the ",
       plan.quantization->group, " of a group; ", fitting.empty() ? "ignore the layer" : "fitting sizes: " + fitting);
}

class StagePlanner {
 public:
  StagePlanner(const RecipeStage& stage, const ModuleList& list) : stage_(stage), list_(list) {}

  StagePlan plan() {
    plan_.notes = stage_.notes;
    for (const Modifier& modifier : stage_.modifiers) {
      place_ = modifier.place;
      if (const auto* pruning = std::get_if<PruningModifier>(&modifier.arguments)) prune(*pruning);
      if (const auto* forms = std::get_if<PlanModifier>(&modifier.arguments)) request_forms(*forms);
      if (const auto* smooth = std::get_if<SmoothQuantModifier>(&modifier.arguments)) {
        if (plan_.smooth_quant) fail(ErrorCode::invalid_argument, place_, ": the stage smooths twice");
        note_ignored(smooth->ignore);
        plan_.smooth_quant = plan_smooth_quant(*smooth, list_, place_);
      }
      if (const auto* refinement = std::get_if<RefinementPlan>(&modifier.arguments)) {
        if (plan_.refinement) fail(ErrorCode::invalid_argument, place_, ": the stage refines twice");
        plan_.refinement = *refinement;
      }
    }
    for (const Modifier& modifier : stage_.modifiers) {
      place_ = modifier.place;
      if (const auto* quantization = std::get_if<QuantizationModifier>(&modifier.arguments)) quantize(*quantization);
    }
    for (const auto& [name, joint] : joint_) join(name, *joint);
    for (const Module& module : list_.modules) {
      if (const auto found = plan_.layers.find(module.name); found != plan_.layers.end()) {
        require_shape(module, found->second, places_[module.name]);
      }
    }
    if (plan_.layers.empty() && plan_.embedding_bits == 16 && !plan_.smooth_quant && !plan_.forms) {
      fail(ErrorCode::invalid_argument, stage_.modifiers.empty() ? stage_.name : stage_.modifiers.front().place,
           ": the stage ", stage_.name, " changes no layer of this model");
    }
    return std::move(plan_);
  }

 private:
  bool is_tied_head(const Module& module) const { return list_.tied_head && module.name == list_.head; }

  void note(const std::string& text) { add_note(plan_.notes, text); }

  /// Errors: not_found for the first target that names no module.
  std::vector<TargetRank> ranks_of(const std::vector<RecipeTarget>& targets, bool may_match_nothing) {
    std::vector<const RecipeTarget*> unmatched;
    std::vector<TargetRank> ranks = target_ranks(list_, targets, &unmatched);
    if (unmatched.empty() || may_match_nothing) return ranks;
    const std::string& text = unmatched.front()->text();
    const std::string near = near_names(text, target_names(list_));
    fail(ErrorCode::not_found, place_, ": the target ", quoted_name(text), " names no module of this model",
         near.empty() ? "" : "; did you mean " + near + "?");
  }

  /// The module or class that a name is a misspelling of: at most 2 letters differ.
  std::string_view nearest(std::string_view name) const {
    constexpr std::size_t longest = 64, most = 2;
    if (name.size() > longest || name.starts_with("re:")) return {};
    for (const std::string_view each : target_names(list_)) {
      if (each.size() <= longest && edit_distance(name, each) <= most) return each;
    }
    return {};
  }

  /// What `ignore` names; entries that name nothing become notes, since recipes also name classes without weights.
  std::vector<TargetRank> note_ignored(const std::vector<RecipeTarget>& ignore) {
    std::vector<const RecipeTarget*> unmatched;
    std::vector<TargetRank> ranks = target_ranks(list_, ignore, &unmatched);
    std::string without_weights;
    for (const RecipeTarget* each : unmatched) {
      const std::string name = quoted_name(each->text());
      if (const std::string_view near = nearest(each->text()); !near.empty()) {
        note(place_ + ": ignore: " + name + " names no module; was " + std::string(near) + " meant?");
      } else {
        without_weights += (without_weights.empty() ? "" : ", ") + name;
      }
    }
    if (!without_weights.empty()) note(place_ + ": ignore: no module with weights is named " + without_weights);
    return ranks;
  }

  void prune(const PruningModifier& modifier) {
    std::vector<TargetRank> ranks = ranks_of(modifier.targets, false);
    const std::vector<TargetRank> ignored = note_ignored(modifier.ignore);
    std::vector<const Module*> chosen;
    std::vector<std::size_t> layers;  // of the decoder, with targets
    for (std::size_t i = 0; i < list_.modules.size(); ++i) {
      const Module& module = list_.modules[i];
      const bool is_target = modifier.targets.empty() ? module.layer.has_value() : ranks[i] != TargetRank::none;
      if (module.kind != Module::Kind::linear || !is_target || ignored[i] != TargetRank::none) continue;
      if (is_tied_head(module)) {
        note(place_ + ": " + module.name + " is not pruned: its matrix is that of " + list_.embedding);
        continue;
      }
      if (!module.layer) {
        note(place_ + ": " + module.name + " is not pruned: only decoder layers are");
        continue;
      }
      chosen.push_back(&module);
      if (layers.empty() || layers.back() != *module.layer) layers.push_back(*module.layer);
    }
    if (chosen.empty()) fail(ErrorCode::not_found, place_, ": its targets name no linear layer that may be pruned");
    const std::vector<double> sparsities =
        modifier.rising_spread == 0
            ? modifier.layer_sparsities
            : rising_sparsities(layers.size(), modifier.pruning.sparsity, modifier.rising_spread);
    if (!sparsities.empty() && sparsities.size() != layers.size()) {
      fail(ErrorCode::invalid_argument, place_, ": ", sparsities.size(), " sparsities for ", layers.size(),
           " decoder layers with targets");
    }
    for (const Module* module : chosen) {
      PruningPlan pruning = modifier.pruning;
      if (!sparsities.empty()) {
        const auto at = std::lower_bound(layers.begin(), layers.end(), module->layer.value_or(0)) - layers.begin();
        pruning.sparsity = sparsities[static_cast<std::size_t>(at)];
      }
      add_pruning(*module, pruning, modifier);
    }
  }

  void request_forms(const PlanModifier& modifier) {
    if (stage_.modifiers.size() > 1) {
      fail(ErrorCode::invalid_argument, place_, " must be the only modifier of its stage");
    }
    const std::vector<TargetRank> ranks = ranks_of(modifier.targets, false);
    const std::vector<TargetRank> ignored = note_ignored(modifier.ignore);
    FormRequest& request = plan_.forms.emplace(FormRequest{modifier.budget, modifier.forms, {}});
    for (std::size_t i = 0; i < list_.modules.size(); ++i) {
      const Module& module = list_.modules[i];
      const bool is_target = modifier.targets.empty() || ranks[i] != TargetRank::none;
      if (module.kind != Module::Kind::linear || !module.layer || !is_target || ignored[i] != TargetRank::none)
        continue;
      request.layers.push_back(module.name);
    }
    if (request.layers.empty()) {
      fail(ErrorCode::not_found, place_, ": its targets name no linear layer of a decoder layer");
    }
  }

  void add_pruning(const Module& module, const PruningPlan& pruning, const PruningModifier& modifier) {
    if (pruning.sparsity == 0 && !modifier.quantizes) return;
    LayerPlan& layer = plan_.layers[module.name];
    if (places_.contains(module.name)) {
      fail(ErrorCode::invalid_argument, place_, ": ", module.name, " is already a target of ", places_[module.name]);
    }
    places_[module.name] = place_;
    if (pruning.sparsity > 0) layer.pruning = pruning;
    layer.target = modifier.target;
    if (modifier.quantizes) joint_.emplace_back(module.name, &modifier);
  }

  void quantize(const QuantizationModifier& modifier) {
    has_quantization_ = true;
    const std::vector<TargetRank> ignored = note_ignored(modifier.ignore);
    std::vector<std::vector<TargetRank>> ranks;
    for (const QuantizationGroup& group : modifier.groups) {
      ranks.push_back(ranks_of(group.targets, group.may_match_nothing));
    }
    for (std::size_t i = 0; i < list_.modules.size(); ++i) {
      if (ignored[i] != TargetRank::none) continue;
      const QuantizationGroup* best = nullptr;  // the most specific, and of these the first
      TargetRank best_rank = TargetRank::none;
      for (std::size_t group = 0; group < ranks.size(); ++group) {
        if (ranks[group][i] <= best_rank) continue;
        best_rank = ranks[group][i];
        best = &modifier.groups[group];
      }
      if (best == nullptr || !best->weights) continue;
      const Module& module = list_.modules[i];
      if (module.kind == Module::Kind::embedding) quantize_embedding(*best->weights);
      if (module.kind != Module::Kind::linear) continue;
      if (is_tied_head(module)) {
        quantize_embedding(*best->weights);
      } else {
        quantize_linear(module, *best->weights, modifier);
      }
    }
  }

  void quantize_embedding(const QuantizationPlan& weights) {
    if (weights.bits != 8) {
      note(place_ + ": " + list_.embedding + " stays in 16 bits: embeddings have 8 or 16");
      return;
    }
    plan_.embedding_bits = 8;
    note(place_ + ": " + list_.embedding + (list_.tied_head ? ", whose matrix is the head's too, has" : " has") +
         " 8 bits in the bitmask form; in compressed-tensors its rounded values have 16, as there " +
         (list_.tied_head ? "a tied matrix has one form" : "vLLM takes no int8 embedding"));
  }

  void quantize_linear(const Module& module, const QuantizationPlan& weights, const QuantizationModifier& modifier) {
    LayerPlan& layer = plan_.layers[module.name];
    if (layer.quantization) {
      fail(ErrorCode::invalid_argument, place_, ": ", module.name, " is already quantized by another modifier");
    }
    const bool is_fitted = layer.pruning && (layer.pruning->method == PruningMethod::alps ||
                                             layer.pruning->method == PruningMethod::sparsegpt);
    QuantizationPlan codes = weights;
    if (layer.pruning && !codes.symmetric) {
      codes.symmetric = true;
      note(place_ + ": pruned layers have symmetric codes, so that zero is a code");
    }
    layer.quantization = codes;
    if (!layer.pruning) {
      layer.target = modifier.target;
      if (modifier.method == QuantizationMethod::descent) layer = with_own_target(layer);
    } else if (!is_fitted) {
      layer.target.damping = modifier.target.damping;
    } else if (modifier.method == QuantizationMethod::gptq && layer.target != modifier.target) {
      note(place_ + ": the target and damping of the modifier that prunes hold for pruned layers");
    }
    places_.try_emplace(module.name, place_);
  }

  /// SparseGPT with `quantize: true`: rounding in its loop, or GPTQ where nothing is pruned.
  void join(const std::string& name, const PruningModifier& modifier) {
    LayerPlan& layer = plan_.layers[name];
    if (!layer.quantization && !has_quantization_) {
      layer.quantization = QuantizationPlan{QuantizationMethod::nearest, 8, 0, true, false, false};
      note(places_[name] + ": quantize: true without a QuantizationModifier: 8 bits, symmetric, one scale per row");
    }
    if (!layer.quantization) {
      if (!layer.pruning) plan_.layers.erase(name);
      return;
    }
    layer.target = modifier.target;
    layer.quantization->jointly = layer.pruning.has_value();
    layer.quantization->method = layer.pruning ? QuantizationMethod::nearest : QuantizationMethod::gptq;
  }

  const RecipeStage& stage_;
  const ModuleList& list_;
  StagePlan plan_;
  std::string place_;                          // of the modifier at hand
  std::map<std::string, std::string> places_;  // of the modifier that first named a layer
  std::vector<std::pair<std::string, const PruningModifier*>> joint_;
  bool has_quantization_ = false;
};

}  // namespace detail

}  // namespace tulle
