// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/form_plan.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include <catch2/catch_all.hpp>
#include <tulle/compress/plan/score_forms.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/model/families.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

/// A golden model with a text, and speeds that are made up: twice the bytes take twice the time.
struct Planned {
  Planned()
      : checkpoint(Checkpoint::open(TULLE_GOLDEN "/models/llama-tiny-gqa")),
        model(describe_model(checkpoint->config(), checkpoint->path())),
        modules(module_list(model)) {
    for (std::size_t i = 0; i < 6; ++i) {
      std::vector<Token>& sequence = sequences.emplace_back();
      for (std::size_t j = 0; j < 14; ++j)
        sequence.push_back(static_cast<Token>((i * 31 + j * j * 7 + j) % model.vocabulary));
    }
    options.held_out = 2;
    for (const Module& module : modules.modules) {
      if (module.kind != Module::Kind::linear) continue;
      for (const MatrixForm& form : matrix_forms) {
        const double bytes = (1 - form.sparsity) * static_cast<double>(form.bits) / 8 + (form.sparsity > 0 ? 0.125 : 0);
        costs.push_back({std::string(form.name), module.columns, "", bytes, bytes * 1e-9});
      }
    }
  }
  StagePlan stage(std::optional<double> bytes, std::optional<double> speedup = {}) const {
    return plan_of_budget(modules, {bytes, speedup});
  }
  FormPlan plan(const StagePlan& stage, const std::vector<LayerLosses>& losses) const {
    return plan_forms(stage.forms.value(), modules, losses, costs);
  }
  /// With the bytes of `costs`: so small a matrix is padded most.
  std::vector<LayerLosses> score(const StagePlan& stage) const {
    auto losses = score_forms(*checkpoint, model, sequences, stage.forms.value(), options);
    for (LayerLosses& layer : losses) layer.bytes.clear();
    return losses;
  }

  std::shared_ptr<const Checkpoint> checkpoint;
  Architecture model;
  ModuleList modules;
  std::vector<std::vector<Token>> sequences;
  std::vector<FormCost> costs;
  CompressionOptions options;
};

std::string values_of(const CompressedModel& model) {
  std::string bytes;
  for (const LayerReport& layer : model.layers) {
    const auto matrix = model.tensors->matrix(layer.name);
    std::vector<float> row(matrix->columns());
    for (std::size_t i = 0; i < matrix->rows(); ++i) {
      matrix->decode_row(i, row.data());
      bytes.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("a budget that cannot be met is known before anything is scored", "[compress][plan]") {
  const Planned tiny;
  const auto check = [&](std::optional<double> bytes, std::optional<double> speedup = {}) {
    check_budget(tiny.stage(bytes, speedup).forms.value(), tiny.model, tiny.modules, tiny.costs);
  };
  CHECK_NOTHROW(check(0.5));
  CHECK_NOTHROW(check({}, 1.5));
  CHECK_THROWS_WITH(check(0.05), Catch::Matchers::ContainsSubstring("give that or more"));
  CHECK_THROWS_WITH(check({}, 50), Catch::Matchers::ContainsSubstring("give that or less"));
}

TEST_CASE("bytes of zeros that can be anywhere are those of the model's own", "[compress][plan]") {
  const Planned tiny;
  const StagePlan stage = tiny.stage(0.5);
  const auto losses = score_forms(*tiny.checkpoint, tiny.model, tiny.sequences, stage.forms.value(), tiny.options);
  for (const auto& [name, bytes] : losses.front().bytes) {
    const auto weights =
        static_cast<double>(tiny.checkpoint->matrix(name)->rows() * tiny.checkpoint->matrix(name)->columns());
    for (std::size_t form = 0; form < matrix_forms.size(); ++form) {
      CAPTURE(name, matrix_forms[form].name);
      const bool anywhere = matrix_forms[form].sparsity > 0 && matrix_forms[form].structure == SparsityStructure{};
      CHECK((bytes[form] > 0) == anywhere);
      if (anywhere)
        CHECK(bytes[form] >=
              (1 - matrix_forms[form].sparsity) * weights * static_cast<double>(matrix_forms[form].bits) / 8);
    }
  }
}

TEST_CASE("losses of int8 are measured alone as beside other forms", "[compress][plan]") {
  const Planned tiny;
  FormRequest request = tiny.stage(1.01).forms.value();
  const auto all = score_forms(*tiny.checkpoint, tiny.model, tiny.sequences, request, tiny.options);
  REQUIRE(request.forms.front().name == "int8");
  request.forms.resize(1);
  const auto alone = score_forms(*tiny.checkpoint, tiny.model, tiny.sequences, request, tiny.options);
  for (std::size_t layer = 0; layer < all.size(); ++layer) {
    for (const auto& [name, losses] : alone[layer].losses) {
      CAPTURE(name);
      CHECK(losses.front() == Catch::Approx(all[layer].losses.at(name).front()).epsilon(0.5));
    }
  }
}

TEST_CASE("a plan keeps to its budget and says which the nearest is", "[compress][plan]") {
  const Planned tiny;
  const StagePlan stage = tiny.stage(0.5);
  const auto losses = tiny.score(stage);
  REQUIRE(losses.size() == tiny.model.layers.size());
  CHECK(losses[tiny.model.layers.size() / 2].factors.size() == matrix_forms.size());
  double before = std::numeric_limits<double>::infinity();
  for (const double bytes : {0.3, 0.45, 0.6, 0.8, 1.0}) {
    const FormPlan plan = tiny.plan(tiny.stage(bytes), losses);
    CHECK(plan.matrices.size() == stage.forms.value().layers.size());
    CHECK(plan.bytes <= bytes * plan.weights);
    CHECK(plan.loss <= before);
    before = plan.loss;
    for (const PlannedForm& uniform : plan.uniform) {  // no worse than a uniform form of its bytes
      if (uniform.bytes <= plan.bytes) CHECK(plan.loss <= uniform.loss * 1.001);
    }
  }
  const auto has_zeros = [&](double bytes) {
    const FormPlan plan = tiny.plan(tiny.stage(bytes), losses);
    return std::any_of(plan.matrices.begin(), plan.matrices.end(),
                       [](const PlannedForm& matrix) { return matrix_form(matrix.form, "").sparsity > 0; });
  };
  CHECK(has_zeros(0.4));
  const FormPlan fast = tiny.plan(tiny.stage({}, 1.8), losses);
  CHECK(fast.int8_seconds / fast.seconds >= 1.8);
  const std::string small = error_of([&] { tiny.plan(tiny.stage(0.1), losses); });
  CHECK(small.find("have 0.175: give that or more") != std::string::npos);
  CHECK(tiny.plan(tiny.stage(0.175), losses).bytes <= 0.1751 * fast.weights);
  CHECK(error_of([&] { tiny.plan(tiny.stage({}, 9.0), losses); }).find("reaches 5.71: give that or less") !=
        std::string::npos);
  CHECK(error_of([&] { tiny.stage({}, {}); }).starts_with("invalid_argument: give --bytes-per-weight or"));

  // Both: no more bytes and no more time than a form in every matrix, which is one such plan.
  for (const MatrixForm& form : matrix_forms) {
    if (std::any_of(tiny.modules.modules.begin(), tiny.modules.modules.end(),
                    [&](const Module& module) { return module.layer && !form.fits(module.columns); })) {
      continue;
    }
    CAPTURE(form.name);
    const FormPlan beside = tiny.plan(plan_of_budget(tiny.modules, {{}, {}, std::string(form.name)}), losses);
    for (const PlannedForm& uniform : beside.uniform) {
      if (uniform.form != form.name) continue;
      CHECK(beside.bytes <= uniform.bytes * 1.000001);
      CHECK(beside.seconds <= uniform.seconds * 1.000001);
      CHECK(beside.loss <= uniform.loss * 1.001);
    }
  }
  Planned sparse_is_slow;  // so that the smallest forms are not the fastest
  for (FormCost& cost : sparse_is_slow.costs) {
    if (matrix_form(cost.form, "").sparsity > 0) cost.seconds *= 10;
  }
  CHECK(error_of([&] { sparse_is_slow.plan(tiny.stage(0.3, 1.5), losses); }).find("no plan of 0.3 bytes a weight") !=
        std::string::npos);

  // Matrices that are packed together have different codes or one form.
  const FormPlan plan = tiny.plan(stage, losses);
  for (const LayerLosses& layer : losses) {
    for (const auto& item : layer.items) {
      std::vector<MatrixForm> forms;
      for (const PlannedForm& each : plan.matrices) {
        if (std::find(item.begin(), item.end(), each.name) != item.end()) forms.push_back(matrix_form(each.form, ""));
      }
      for (const MatrixForm& a : forms) {
        for (const MatrixForm& b : forms) CHECK((a == b || !a.is_packed_with(b)));
      }
    }
  }
}

TEST_CASE("the same plan has the same bytes, also after an interruption", "[compress][plan]") {
  Planned tiny;
  const auto planned = [&] {
    StagePlan stage = tiny.stage(0.45);
    stage.forms->forms = {matrix_form("int4-32", ""), matrix_form("2:4-int4", ""), matrix_form("70%-int8", "")};
    set_forms(stage, tiny.plan(stage, tiny.score(stage)));
    return stage;
  };
  CHECK_THROWS(compress(*tiny.checkpoint, tiny.model, tiny.sequences, tiny.stage(0.45), tiny.options));
  const std::string whole = values_of(compress(*tiny.checkpoint, tiny.model, tiny.sequences, planned(), tiny.options));
  struct Stop {};
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("tulle_scores_" + std::to_string(::getpid()))).string();
  tiny.options.threads = 1;
  tiny.options.work_directory = folder;
  tiny.options.progress = [](std::string_view, double) { throw Stop(); };
  CHECK_THROWS_AS(planned(), Stop);
  CHECK(std::filesystem::exists(folder + "/layer_0.json"));
  tiny.options.progress = {};
  const StagePlan resumed = planned();
  std::filesystem::remove_all(folder);
  tiny.options.work_directory.clear();
  CHECK(values_of(compress(*tiny.checkpoint, tiny.model, tiny.sequences, resumed, tiny.options)) == whole);
}
