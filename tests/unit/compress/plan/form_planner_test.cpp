// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/form_planner.hpp>

#include <string>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/compress/plan/form_plan.hpp>

using namespace tulle;

TEST_CASE("zeros that lose more than codes do are for budgets that need them", "[compress][plan]") {
  const FormRequest all;
  FormRequest request{{0.6, {}}, all.forms, {"first", "second"}};
  ModuleList modules;
  std::vector<LayerLosses> losses;
  std::vector<FormCost> costs;
  for (const std::string& name : request.layers) {
    Module& module = modules.modules.emplace_back();
    module.name = name;
    module.rows = module.columns = 128;
    LayerLosses& layer = losses.emplace_back();
    layer.items = {{name}};
    // The output of the first layer seems to depend on nothing.
    for (const MatrixForm& form : matrix_forms) {
      const double error = form.sparsity > 0 ? form.sparsity : form.bits == 8 ? 1e-4 : 1e-2;
      layer.losses[name].push_back(form.fits(128) ? error * (name == "first" ? 1e-6 : 1) : -1);
    }
  }
  for (const MatrixForm& form : matrix_forms) {
    const double bytes = (1 - form.sparsity) * static_cast<double>(form.bits) / 8 + (form.sparsity > 0 ? 0.125 : 0.05);
    costs.push_back({std::string(form.name), 128, "", bytes, bytes * 1e-9});
  }
  const auto form_of_first = [&](double bytes) {
    request.budget.bytes_per_weight = bytes;
    return matrix_form(plan_forms(request, modules, losses, costs).matrices.front().form, "");
  };
  CHECK(form_of_first(0.62).sparsity == 0);
  CHECK(form_of_first(0.62).bits == 4);
  CHECK(form_of_first(0.4).sparsity > 0);

  // A model that came pruned loses nothing by that form.
  const auto pruned = static_cast<std::size_t>(&matrix_form("50%-int8", "") - matrix_forms.data());
  for (LayerLosses& layer : losses) layer.losses.begin()->second[pruned] = 0;
  CHECK(form_of_first(0.8).name == "50%-int8");
}
