// SPDX-License-Identifier: Apache-2.0
/// \file From losses, costs and a budget to a form for each matrix (L5).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/module_list.hpp>
#include <tulle/compress/plan/form_costs.hpp>
#include <tulle/compress/plan/form_losses.hpp>
#include <tulle/compress/plan/form_planner.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/json.hpp>

namespace tulle {

/// Forms of least loss within the budget of `request`, or one form for all where that seems hardly worse. q, k and v, or
/// gate and up, differ only in bits or groups, as those of the same codes are packed together. Deterministic.
/// Errors: invalid_argument for a budget that cannot be met, with the nearest that can; not_found for missing costs.
inline FormPlan plan_forms(const FormRequest& request, const ModuleList& modules, std::span<const LayerLosses> layers,
                           std::span<const FormCost> costs) {
  return detail::FormPlanner(request, modules, layers, costs).plan();
}

/// Whether the budget of `request` can be met at all, which needs no losses. Errors: those of `plan_forms`.
inline void check_budget(const FormRequest& request, const Architecture& model, const ModuleList& modules,
                         std::span<const FormCost> costs) {
  LayerLosses all;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    for (const LinearRole role : layer_roles) {
      std::vector<std::string> item = names_of_item(model, layer, role, request.layers);
      if (!item.empty()) all.items.push_back(std::move(item));
    }
  }
  for (const Module& module : modules.modules) {
    for (const MatrixForm& form : request.forms) all.losses[module.name].push_back(form.fits(module.columns) ? 0 : -1);
  }
  (void)plan_forms(request, modules, {&all, 1}, costs);
}

/// Puts the chosen forms into a stage's plan, which then is whole.
inline void set_forms(StagePlan& stage, const FormPlan& forms) {
  for (const PlannedForm& matrix : forms.matrices) {
    stage.layers[matrix.name] = matrix_form(matrix.form, "the plan").plan();
  }
  stage.forms.reset();
}

inline Json plan_json(const FormPlan& plan) {
  Json matrices = Json::array(), uniform = Json::array();
  for (const PlannedForm& each : plan.matrices) {
    matrices.push_back({{"name", each.name},
                        {"form", each.form},
                        {"loss", each.loss},
                        {"bytes", each.bytes},
                        {"seconds", each.seconds}});
  }
  for (const PlannedForm& each : plan.uniform) {
    uniform.push_back({{"form", each.form},
                       {"loss", each.loss},
                       {"bytes_per_weight", each.bytes / plan.weights},
                       {"speedup", plan.int8_seconds / each.seconds}});
  }
  return {{"bytes_per_weight", plan.bytes / plan.weights},
          {"speedup", plan.int8_seconds / plan.seconds},
          {"loss", plan.loss},
          {"form", plan.form},
          {"multiplier", {{"bytes", plan.multiplier.bytes}, {"seconds", plan.multiplier.seconds}}},
          {"matrices", matrices},
          {"uniform", uniform}};
}

}  // namespace tulle
