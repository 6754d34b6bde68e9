// SPDX-License-Identifier: Apache-2.0
#include "survey.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <utility>

#include "output_directory.hpp"
#include "survey_html.hpp"
#include "tools/tulle/formatted.hpp"
#include "tools/tulle/new_file.hpp"
#include "tools/tulle/streams.hpp"

namespace {

constexpr std::array plan_budgets{0.60, 0.52, 0.45, 0.40};

struct Cell {
  std::string name, kind, path;  // of the model or a reference
  MakePlan make_plan;
  std::string form;  // whose bytes and speed the plan has; measured only where it is named
};

std::vector<std::string> layers_of(const tulle::ModuleList& modules) {
  return tulle::plan_of_budget(modules, {1, {}}).forms.value_or(tulle::FormRequest()).layers;
}

/// Whether every matrix can have the form.
bool fits(const tulle::ModuleList& modules, const tulle::MatrixForm& form) {
  return std::all_of(modules.modules.begin(), modules.modules.end(), [&](const tulle::Module& module) {
    return module.kind != tulle::Module::Kind::linear || !module.layer || form.fits(module.columns);
  });
}

/// References that have the name of another cell are numbered.
void number_references(std::vector<Cell>& cells) {
  std::set<std::string> taken;
  for (const Cell& cell : cells) {
    if (cell.kind != "reference") taken.insert(cell.name);
  }
  for (Cell& cell : cells) {
    if (cell.kind != "reference") continue;
    const std::string name = cell.name;
    for (int number = 2; !taken.insert(cell.name).second; ++number) cell.name = name + "-" + std::to_string(number);
  }
}

std::vector<Cell> cells_of(const SurveyJob& job) {
  std::vector<Cell> cells{{"model", "model", job.model, {}, {}}};
  for (const std::string& path : job.references) {
    cells.push_back({plain_path(path).filename().string(), "reference", path, {}, {}});
  }
  for (const tulle::MatrixForm& form : tulle::matrix_forms) {
    if (!fits(job.modules, form)) continue;
    const auto make_plan = [form](const tulle::ModuleList& modules) {
      tulle::StagePlan stage;
      for (const std::string& layer : layers_of(modules)) stage.layers[layer] = form.plan();
      return stage;
    };
    cells.push_back({std::string(form.name), "form", "", make_plan, {}});
  }
  const bool has_experts = std::any_of(job.modules.modules.begin(), job.modules.modules.end(),
                                       [](const tulle::Module& module) { return module.is_expert; });
  const auto add_plan = [&](const std::string& name, const tulle::FormBudget& budget) {
    if (has_experts) return;  // there is no plan for them
    const auto make_plan = [budget](const tulle::ModuleList& modules) {
      return tulle::plan_of_budget(modules, budget);
    };
    cells.push_back({name, "plan", "", make_plan, budget.form});
  };
  for (const double bytes : plan_budgets) {
    add_plan(formatted("plan-%.2f", bytes), {bytes, {}});
  }
  for (const tulle::MatrixForm& form : tulle::matrix_forms) {
    if (!fits(job.modules, form)) continue;
    add_plan("plan-as-" + std::string(form.name), {{}, {}, std::string(form.name)});
  }
  number_references(cells);
  return cells;
}

/// What must be the same for a cell's figures to be those of this survey.
tulle::Json settings_of(const SurveyJob& job, const Cell& cell) {
  tulle::Json settings = job.settings;
  if (cell.kind == "reference") settings["reference"] = std::to_string(tulle::model_state(cell.path));
  return settings;
}

/// The file of a cell's figures.
std::string file_of(const SurveyJob& job, const std::string& cell) {
  return job.directory + "/cells/" + cell + ".json";
}

/// A cell's figures. A compressed model is removed again: its figures are what counts.
tulle::Json measure(const SurveyJob& job, const Cell& cell) {
  tulle::Json result;
  if (!cell.make_plan) {
    result = measure_model(cell.path, job.model, job.texts, job.threads);
  } else {
    const std::string directory = job.directory + "/cells/" + cell.name + ".model";
    const tulle::Json report = job.compress(directory, cell.make_plan);
    const tulle::Json plan = report.value("plan", tulle::Json::object());
    const std::string form = plan.value("form", "");
    if (!form.empty() && std::filesystem::exists(file_of(job, form))) {  // the same model
      result = tulle::parse_json(read_file(file_of(job, form)), file_of(job, form));
    } else {
      result = measure_model(directory, job.model, job.texts, job.threads);
    }
    result["compression_seconds"] = report["seconds"];
    if (!plan.empty()) result["plan"] = plan;
    std::filesystem::remove_all(directory);
  }
  result["name"] = cell.name;
  result["kind"] = cell.kind;
  if (!cell.form.empty()) result["form"] = cell.form;
  result["settings"] = settings_of(job, cell);
  return result;
}

}  // namespace

tulle::OrderedJson run_survey(const SurveyJob& job) {
  const std::vector<Cell> cells = cells_of(job);
  for (const std::string& wanted : job.cells) {
    std::string known;
    for (const Cell& cell : cells) known += (known.empty() ? "" : ", ") + cell.name;
    if (std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.name == wanted; })) continue;
    tulle::fail(tulle::ErrorCode::not_found, "the survey has no cell \"", wanted, "\"; it has ", known);
  }
  std::filesystem::create_directories(std::filesystem::path(job.directory) / "cells");
  tulle::OrderedJson survey{{"model", job.model}, {"dataset", job.dataset}, {"cells", tulle::OrderedJson::array()}};
  for (const Cell& cell : cells) {
    const std::string file = file_of(job, cell.name);
    const bool is_wanted = (job.cells.empty() && cell.form.empty()) ||
                           std::find(job.cells.begin(), job.cells.end(), cell.name) != job.cells.end();
    if (is_wanted && !std::filesystem::exists(file)) {
      tulle::write_file(file, json_text(measure(job, cell)));
    }
    if (!std::filesystem::exists(file)) continue;
    const tulle::Json found = tulle::parse_json(read_file(file), file);
    if (found.value("settings", tulle::Json()) != settings_of(job, cell)) {
      tulle::fail(tulle::ErrorCode::invalid_argument, file,
                  " has figures of another model, text or length; remove it, or give another directory");
    }
    survey["cells"].push_back(tulle::OrderedJson(found));
  }
  add_ratios(survey);
  NewFile((std::filesystem::path(job.directory) / "survey.json").string()).write(json_text(survey));
  NewFile((std::filesystem::path(job.directory) / "survey.html").string()).write(survey_html(survey));
  return survey;
}
