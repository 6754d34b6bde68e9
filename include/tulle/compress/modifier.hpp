// SPDX-License-Identifier: Apache-2.0
/// \file A recipe as values: stages of modifiers (L5).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/quantization_scheme.hpp>
#include <tulle/compress/recipe_targets.hpp>
#include <tulle/compress/refinement_plan.hpp>

namespace tulle {

/// SparseGPTModifier, WandaPruningModifier, MagnitudePruningModifier, AlpsModifier.
struct PruningModifier {
  PruningPlan pruning;
  TargetPlan target;
  std::vector<double> layer_sparsities;  ///< one for each decoder layer with targets, or empty: `pruning.sparsity`
  double rising_spread = 0;              ///< sparsities rise by twice this from the first layer to the last
  bool quantizes = false;                ///< also rounds, in the same loop (SparseML's `quantize: true`)
  std::vector<RecipeTarget> targets;     ///< empty: all linear layers of the decoder layers
  std::vector<RecipeTarget> ignore;
};

/// QuantizationModifier, GPTQModifier and DescentModifier.
struct QuantizationModifier {
  QuantizationMethod method = QuantizationMethod::nearest;
  TargetPlan target;  ///< of GPTQ and descent
  std::vector<QuantizationGroup> groups;
  std::vector<RecipeTarget> ignore;
};

/// SmoothQuantModifier (arXiv:2211.10438) and LogarithmicEqualizationModifier.
struct SmoothQuantModifier {
  struct Mapping {
    std::vector<RecipeTarget> balanced;  ///< linear layers whose columns are multiplied
    std::vector<RecipeTarget> smoothed;  ///< one: the norm or linear layer before them, whose rows are divided
  };
  double strength = 0.5;
  bool is_logarithmic = false;
  std::vector<Mapping> mappings;  ///< empty: each norm and the linear layers after it
  std::vector<RecipeTarget> ignore;
};

/// PlanModifier: every matrix gets a form of its own, within a budget.
struct PlanModifier {
  FormBudget budget;
  std::vector<MatrixForm> forms;
  std::vector<RecipeTarget> targets;  ///< empty: all linear layers of the decoder layers
  std::vector<RecipeTarget> ignore;
};

struct Modifier {
  std::string type;   ///< as the recipe spells it
  std::string group;  ///< "oneshot" of "oneshot_modifiers"
  std::string place;  ///< "recipe.yaml, line 4: SparseGPTModifier", for messages
  std::variant<PruningModifier, QuantizationModifier, SmoothQuantModifier, PlanModifier, RefinementPlan> arguments;
};

/// What is done in one go: its modifiers act on the same dense weights, each on what it targets.
struct RecipeStage {
  std::string name;  ///< "compression" of "compression_stage"; "default" for modifiers outside of stages
  std::vector<Modifier> modifiers;
  std::vector<std::string> notes;  ///< what was ignored or replaced, in words
};

struct Recipe {
  std::vector<RecipeStage> stages;
};

/// What SparseGPT, GPTQ and Wanda are fitted to: the layer's own output, on the inputs that it gets.
inline TargetPlan classic_target(bool sequential, double damping) {
  return {0, 0, false, sequential, {0, 0, damping}};
}

}  // namespace tulle
