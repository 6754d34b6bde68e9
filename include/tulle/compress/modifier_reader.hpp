// SPDX-License-Identifier: Apache-2.0
/// \file Reads the arguments of modifiers (L5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/mask_structure.hpp>
#include <tulle/compress/modifier.hpp>
#include <tulle/compress/quantization_scheme.hpp>
#include <tulle/compress/recipe_arguments.hpp>
#include <tulle/compress/refinement_plan.hpp>
#include <tulle/compress/sparsity_profile.hpp>

namespace tulle::detail {

using Names = std::vector<std::string_view>;

/// Arguments that every modifier of SparseML and llm-compressor has, and that only training needs.
inline Names with_common_arguments(Names names) {
  for (const std::string_view each : {"index", "group", "start", "end", "update", "num_calibration_steps",
                                      "initialized_structure_", "offload_hessians", "requires_calibration_data"}) {
    names.push_back(each);
  }
  return names;
}

/// `dampening_frac`, or `percdamp`, as the paper's code calls it.
inline double read_damping(const RecipeArguments& arguments) {
  if (arguments.find("dampening_frac") == nullptr) return arguments.number("percdamp", 0.01, 0, 1000);
  if (const YamlNode* other = arguments.find("percdamp")) {
    arguments.reject("percdamp", *other, "is another name of dampening_frac: give one of them");
  }
  return arguments.number("dampening_frac", 0.01, 0, 1000);
}

inline double read_share(const RecipeArguments& arguments, std::string_view key, const YamlNode& value) {
  const double share = arguments.number_in(key, value, 0, 1);
  if (share == 1) arguments.reject(key, value, "must be below 1");
  return share;
}

/// Sparsity (a number, or one for each decoder layer), structure and profile.
inline void read_sparsity(const RecipeArguments& arguments, std::string_view key, MaskCount count,
                          PruningModifier& modifier) {
  PruningPlan& plan = modifier.pruning;
  const SparsityStructure structure =
      parse_mask_structure(arguments.text("mask_structure", ""), arguments.place() + ": mask_structure");
  const bool is_balanced = structure.kind == SparsityStructure::Kind::balanced;
  const YamlNode* given = arguments.find(key);
  std::optional<double> sparsity;
  if (given != nullptr && given->is_sequence()) {
    if (is_balanced) arguments.reject(key, *given, "must be one number with a mask_structure of N:M");
    double sum = 0;
    for (const YamlNode& each : given->items) {
      modifier.layer_sparsities.push_back(read_share(arguments, key, each));
      sum += modifier.layer_sparsities.back();
    }
    if (given->items.empty()) arguments.reject(key, *given, "must not be an empty list");
    sparsity = sum / static_cast<double>(given->items.size());
  } else if (given != nullptr) {
    sparsity = read_share(arguments, key, *given);
  }
  set_sparsity(plan, structure, sparsity, count, arguments.place());
  // Wanda compares the weights of a row (arXiv:2306.11695, section 3).
  if (plan.method == PruningMethod::wanda && !is_balanced) plan.structure.kind = SparsityStructure::Kind::row;
  const bool has_owl = arguments.find("owl_m") != nullptr || arguments.find("owl_lmbda") != nullptr;
  const YamlNode* named = arguments.find("sparsity_profile");
  const std::string profile = arguments.text("sparsity_profile", has_owl ? "owl" : "");
  if (named != nullptr || has_owl) {
    const YamlNode& at = named != nullptr ? *named : arguments.node();
    if (profile != "owl" && profile != "rising") {
      arguments.reject("sparsity_profile", at, "must be owl or rising");
    }
    if (is_balanced || !modifier.layer_sparsities.empty()) {
      arguments.reject("sparsity_profile", at, "needs one sparsity and a mask_structure without N:M");
    }
  }
  if (profile == "rising") {
    modifier.rising_spread = arguments.number("spread", default_rise, 0, 0.5);
  } else if (const YamlNode* spread = arguments.find("spread")) {
    arguments.reject("spread", *spread, "needs sparsity_profile: rising");
  }
  if (profile == "owl") {
    plan.owl = OwlProfile{arguments.number("owl_m", OwlProfile{}.outlier, 0, 1e6),
                          arguments.number("owl_lmbda", OwlProfile{}.spread, 0, 1)};
  } else if (has_owl) {
    fail_at(ErrorCode::invalid_argument, arguments.where(), arguments.node().line, arguments.owner(),
            ": owl_m and owl_lmbda need sparsity_profile: owl");
  }
}

inline Names pruning_arguments(Names own) {
  for (const std::string_view each : {"sparsity", "sparsity_profile", "owl_m", "owl_lmbda", "spread", "mask_structure",
                                      "sequential_update", "targets", "ignore"}) {
    own.push_back(each);
  }
  return own;
}

inline void read_pruning_targets(const RecipeArguments& arguments, PruningModifier& modifier) {
  modifier.targets = read_targets(arguments, "targets");
  modifier.ignore = read_targets(arguments, "ignore");
}

inline PruningModifier read_sparsegpt(const RecipeArguments& arguments, std::vector<std::string>& notes) {
  arguments.require_known(
      pruning_arguments({"block_size", "dampening_frac", "percdamp", "preserve_sparsity_mask", "quantize"}),
      with_common_arguments({"sequential_targets"}), notes);
  PruningModifier modifier;
  PruningPlan& plan = modifier.pruning;
  plan.method = PruningMethod::sparsegpt;
  plan.permutes = false;  // nor with the other published methods
  read_sparsity(arguments, "sparsity", MaskCount::as_sparsity_says, modifier);
  plan.block_size = static_cast<std::size_t>(arguments.integer("block_size", 128, 1, 1 << 20));
  if (plan.structure.of != 0 && plan.block_size % plan.structure.of != 0) {
    fail_at(ErrorCode::invalid_argument, arguments.where(), arguments.node().line, "block_size ", plan.block_size,
            " of ", arguments.owner(), " is no multiple of the ", plan.structure.of, " columns of its mask_structure");
  }
  plan.keep_existing_zeros = arguments.flag("preserve_sparsity_mask", false);
  modifier.target = classic_target(arguments.flag("sequential_update", false), read_damping(arguments));
  const YamlNode* quantize = arguments.find("quantize");
  modifier.quantizes = quantize != nullptr && (quantize->is_mapping() || arguments.flag("quantize", false));
  const bool prunes = plan.sparsity > 0;
  if (!prunes && !modifier.quantizes) {
    fail_at(ErrorCode::invalid_argument, arguments.where(), arguments.node().line, arguments.owner(),
            " does nothing: its sparsity is 0 and quantize is not true");
  }
  read_pruning_targets(arguments, modifier);
  return modifier;
}

inline void require_pruning(const RecipeArguments& arguments, const PruningModifier& modifier) {
  if (modifier.pruning.sparsity > 0) return;
  fail_at(ErrorCode::invalid_argument, arguments.where(), arguments.node().line, arguments.owner(),
          " does nothing: its sparsity is 0");
}

inline PruningModifier read_wanda(const RecipeArguments& arguments, std::vector<std::string>& notes) {
  arguments.require_known(pruning_arguments({}), with_common_arguments({"sequential_targets"}), notes);
  PruningModifier modifier;
  modifier.pruning.method = PruningMethod::wanda;
  modifier.pruning.permutes = false;
  read_sparsity(arguments, "sparsity", MaskCount::as_sparsity_says, modifier);
  require_pruning(arguments, modifier);
  modifier.target = classic_target(arguments.flag("sequential_update", false), 0);
  read_pruning_targets(arguments, modifier);
  return modifier;
}

/// The schedule of training is left out: all weights are pruned at once, to `final_sparsity`.
inline PruningModifier read_magnitude(const RecipeArguments& arguments, std::vector<std::string>& notes) {
  arguments.require_known(
      Names{"sparsity", "final_sparsity", "mask_structure", "targets", "ignore", "apply_globally"},
      with_common_arguments({"init_sparsity", "update_scheduler", "scheduler_args", "leave_enabled"}), notes);
  PruningModifier modifier;
  modifier.pruning.method = PruningMethod::magnitude;
  modifier.pruning.permutes = false;
  const YamlNode* final_sparsity = arguments.find("final_sparsity");
  if (final_sparsity != nullptr && arguments.find("sparsity") != nullptr) {
    arguments.reject("final_sparsity", *final_sparsity, "is another name of sparsity: give one of them");
  }
  if (arguments.flag("apply_globally", false)) {
    fail_at(ErrorCode::unsupported, arguments.where(), arguments.node().line, "apply_globally of ", arguments.owner(),
            " is not available: each matrix is pruned by itself");
  }
  read_sparsity(arguments, final_sparsity != nullptr ? "final_sparsity" : "sparsity", MaskCount::as_sparsity_says,
                modifier);
  require_pruning(arguments, modifier);
  modifier.target = classic_target(false, 0);
  read_pruning_targets(arguments, modifier);
  return modifier;
}

/// Tulle's own modifier: ADMM with asymmetric targets. N:M keeps N of M.
inline PruningModifier read_alps(const RecipeArguments& arguments, std::vector<std::string>& notes) {
  arguments.require_known(pruning_arguments({"alpha", "gamma", "row_weights", "damping", "channel_permutation"}),
                          with_common_arguments({}), notes);
  PruningModifier modifier;
  modifier.pruning.method = PruningMethod::alps;
  read_sparsity(arguments, "sparsity", MaskCount::kept, modifier);
  modifier.pruning.permutes = arguments.flag("channel_permutation", true);
  require_pruning(arguments, modifier);
  TargetPlan& target = modifier.target;
  target.alpha = arguments.number("alpha", target.alpha, 0, 1);
  target.gamma = arguments.number("gamma", target.gamma, 0, 10);
  target.row_weights = arguments.flag("row_weights", target.row_weights);
  target.sequential = arguments.flag("sequential_update", target.sequential);
  if (const YamlNode* damping = arguments.find("damping"); damping != nullptr && damping->is_mapping()) {
    const RecipeArguments parts(*damping, "damping of " + arguments.owner(), arguments.where());
    parts.require_known(Names{"diagonal", "median", "mean"}, {}, notes);
    target.damping = {parts.number("diagonal", 0, 0, 1000), parts.number("median", 0, 0, 1000),
                      parts.number("mean", 0, 0, 1000)};
  } else if (damping != nullptr) {
    const double both = arguments.number("damping", 0, 0, 1000);
    target.damping = {both, both, 0};
  }
  read_pruning_targets(arguments, modifier);
  return modifier;
}

/// Tulle's own modifier: a form for each matrix, within a budget.
inline PlanModifier read_plan(const RecipeArguments& arguments, std::vector<std::string>& notes) {
  arguments.require_known(Names{"bytes_per_weight", "speedup", "forms", "targets", "ignore"}, with_common_arguments({}),
                          notes);
  PlanModifier modifier;
  constexpr double smallest = 0.01, largest = 1000;
  if (arguments.find("bytes_per_weight") != nullptr) {
    modifier.budget.bytes_per_weight = arguments.number("bytes_per_weight", 0, smallest, largest);
  }
  if (arguments.find("speedup") != nullptr) modifier.budget.speedup = arguments.number("speedup", 0, smallest, largest);
  if (!modifier.budget.bytes_per_weight && !modifier.budget.speedup) {
    fail_at(ErrorCode::invalid_argument, arguments.where(), arguments.node().line, arguments.owner(),
            " needs bytes_per_weight or speedup");
  }
  for (const YamlNode* form : arguments.texts("forms")) {
    modifier.forms.push_back(matrix_form(form->text, arguments.place() + ": forms"));
  }
  if (modifier.forms.empty()) modifier.forms.assign(matrix_forms.begin(), matrix_forms.end());
  modifier.targets = read_targets(arguments, "targets");
  modifier.ignore = read_targets(arguments, "ignore");
  return modifier;
}

/// Tulle's own modifier: the blocks that the others compressed are tuned.
inline RefinementPlan read_refine(const RecipeArguments& arguments, std::vector<std::string>& notes) {
  arguments.require_known(Names{"epochs", "batch_size", "learning_rate", "seed"}, with_common_arguments({}), notes);
  RefinementPlan plan;
  plan.epochs = static_cast<std::size_t>(arguments.integer("epochs", static_cast<int>(plan.epochs), 1, 1000));
  plan.batch = static_cast<std::size_t>(arguments.integer("batch_size", static_cast<int>(plan.batch), 1, 64));
  plan.rate = arguments.number("learning_rate", plan.rate, 0, 1);
  plan.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0, 1 << 30));
  return plan;
}

}  // namespace tulle::detail
