// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/form_planner.hpp>

#include <string>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/compress/plan/form_plan.hpp>

using namespace tulle;

namespace {

/// Two matrices [128, 128] and what each form costs them.
struct TwoMatrices {
  FormRequest request{{0.6, {}}, FormRequest().forms, {"first", "second"}};
  ModuleList modules;
  std::vector<LayerLosses> losses;
  std::vector<FormCost> costs;

  /// The output of the first depends on nothing, or nearly so.
  explicit TwoMatrices(double weight_of_first) {
    for (const std::string& name : request.layers) {
      Module& module = modules.modules.emplace_back();
      module.name = name;
      module.rows = module.columns = 128;
      LayerLosses& layer = losses.emplace_back();
      layer.items = {{name}};
      for (const MatrixForm& form : matrix_forms) {
        const double error = form.sparsity > 0 ? form.sparsity : form.bits == 8 ? 1e-4 : 1e-2;
        layer.losses[name].push_back(form.fits(128) ? error * (name == "first" ? weight_of_first : 1) : -1);
      }
    }
    for (const MatrixForm& form : matrix_forms) {
      const double extra = form.sparsity > 0 ? 0.125 : 0.05;
      const double bytes = (1 - form.sparsity) * static_cast<double>(form.bits) / 8 + extra;
      costs.push_back({std::string(form.name), 128, "", bytes, bytes * 1e-9});
    }
  }

  FormPlan plan(double bytes) {
    request.budget.bytes_per_weight = bytes;
    return plan_forms(request, modules, losses, costs);
  }
};

}  // namespace

TEST_CASE("zeros that lose more than codes do are for budgets that need them", "[compress][plan]") {
  TwoMatrices model(1e-6);
  const auto form_of_first = [&](double bytes) { return matrix_form(model.plan(bytes).matrices.front().form, ""); };
  CHECK(form_of_first(0.62).sparsity == 0);
  CHECK(form_of_first(0.62).bits == 4);
  CHECK(form_of_first(0.4).sparsity > 0);

  // A model that came pruned loses nothing by that form.
  const auto pruned = static_cast<std::size_t>(&matrix_form("50%-int8", "") - matrix_forms.data());
  for (LayerLosses& layer : model.losses) layer.losses.begin()->second[pruned] = 0;
  CHECK(form_of_first(0.8).name == "50%-int8");
}

TEST_CASE("what a matrix needs as packed counts", "[compress][plan]") {
  TwoMatrices model(1e-6);
  const FormPlan before = model.plan(0.4);
  const MatrixForm form = matrix_form(before.matrices.front().form, "");
  REQUIRE(form.sparsity > 0);
  const PlannedForm& first = before.matrices.front();
  std::vector<double>& bytes = model.losses.front().bytes["first"];
  bytes.assign(matrix_forms.size(), 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (matrix_forms[i].name == form.name) bytes[i] = 1.5 * first.bytes;
  }
  const FormPlan after = model.plan(0.4);
  CHECK(after.bytes <= 0.4 * after.weights);
  for (const PlannedForm& matrix : after.matrices) {
    if (matrix.name != "first" || matrix.form != form.name) continue;
    CHECK(matrix.bytes == Catch::Approx(1.5 * first.bytes));
    CHECK(matrix.seconds == Catch::Approx(1.5 * first.seconds));
  }
  for (const PlannedForm& uniform : after.uniform) {
    if (uniform.form == form.name) CHECK(uniform.bytes == Catch::Approx(2.5 * first.bytes));
  }
}

TEST_CASE("several forms have to be worth it", "[compress][plan]") {
  // 0.8 bytes a weight: 4 bits in one, 8 in the other.
  TwoMatrices unlike(0.01), alike(1);
  CHECK(unlike.plan(0.8).matrices[0].form == "int4-32");
  CHECK(unlike.plan(0.8).matrices[1].form == "int8");

  // A little better than 4 bits in both.
  const auto bits8 = static_cast<std::size_t>(&matrix_form("int8", "") - matrix_forms.data());
  for (LayerLosses& layer : alike.losses) layer.losses.begin()->second[bits8] = 0.8e-2;
  const FormPlan plan = alike.plan(0.8);
  CHECK(plan.matrices[0].form == "int4-32");
  CHECK(plan.matrices[1].form == "int4-32");
  CHECK(plan.form == "int4-32");
  CHECK(unlike.plan(0.8).form.empty());
  CHECK(plan.loss == Catch::Approx(2e-2));
  CHECK(plan.bytes == Catch::Approx(0.55 * 2 * 128 * 128));
}

TEST_CASE("of plans that lose about as much the fastest is taken", "[compress][plan]") {
  TwoMatrices model(0.01);
  const auto form_of_second = [&] { return model.plan(0.8).matrices[1].form; };
  CHECK(form_of_second() == "int8");
  // As large as int4 with minimums, much faster, and hardly worse than 8 bits.
  const auto sparse = static_cast<std::size_t>(&matrix_form("50%-int8", "") - matrix_forms.data());
  model.losses[1].losses["second"][sparse] = 1.02e-4;
  model.costs[sparse].seconds = 0.1e-9;
  CHECK(form_of_second() == "50%-int8");
  model.losses[1].losses["second"][sparse] = 2.5e-4;
  CHECK(form_of_second() == "int8");
}
