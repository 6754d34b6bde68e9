// SPDX-License-Identifier: Apache-2.0
/// \file Forms within a budget: speeds, scores and the choice, with the files that keep them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <tulle/compress/compress.hpp>
#include <tulle/compress/module_list.hpp>
#include <tulle/compress/plan/form_costs.hpp>
#include <tulle/compress/plan/form_plan.hpp>
#include <tulle/compress/plan/score_forms.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/kept_weights.hpp>
#include <vector>

#include "tools/tulle/new_file.hpp"
#include "tools/tulle/streams.hpp"

/// Where a plan finds what it measured before, and keeps it.
struct PlanFiles {
  std::string given;   ///< speeds.json beside the result: used where it is there
  std::string made;    ///< else this one, which is written where it is not there either
  std::string scores;  ///< directory of the losses
};

/// What an older or other program kept is refused. Errors: malformed.
inline tulle::Json read_speeds(const std::string& file) {
  tulle::Json speeds = tulle::parse_json(read_file(file), file);
  const bool is_known = speeds.is_object() && speeds.value("layouts", tulle::Json()) == tulle::kept_weights_version;
  tulle::read_costs(is_known ? speeds.value("forms", tulle::Json()) : tulle::Json(), file);
  return speeds;
}

/// Bytes and speed of all forms that `request` and a comparison with int8 need.
inline tulle::Json speeds_of(const PlanFiles& files, const tulle::ModuleList& modules,
                             const tulle::FormRequest& request, std::size_t threads, const tulle::Progress& progress) {
  for (const std::string& file : {files.given, files.made}) {
    if (std::filesystem::exists(file)) return read_speeds(file);
  }
  const std::set<std::string> names(request.layers.begin(), request.layers.end());
  std::set<std::size_t> columns;
  std::size_t weights = 0;
  for (const tulle::Module& module : modules.modules) {
    if (!names.contains(module.name)) continue;
    columns.insert(module.columns);
    weights += module.rows * module.columns;
  }
  constexpr std::size_t most = std::size_t{1} << 25;  // more than most caches hold, and soon packed
  tulle::ThreadPool pool(threads);
  tulle::Json costs = tulle::Json::array();
  for (const std::size_t width : columns) {
    const auto of_width = tulle::measure_costs(tulle::matrix_forms, width, std::min(weights, most), pool, progress);
    for (const tulle::Json& cost : tulle::costs_json(of_width)) costs.push_back(cost);
  }
  tulle::Json speeds{{"threads", pool.size()}, {"layouts", tulle::kept_weights_version}, {"forms", costs}};
  std::filesystem::create_directories(std::filesystem::path(files.made).parent_path());
  NewFile(files.made).write(speeds.dump(2) + "\n");
  return speeds;
}

/// Chooses the forms that `stage` asks for, if any, and puts them into it. Returns the plan for the report, or null.
/// `options`: of the compression; its settings hold all but the plan.
inline tulle::Json choose_forms_of_stage(tulle::StagePlan& stage, const tulle::TensorSource& dense,
                                         const tulle::Architecture& model, const tulle::ModuleList& modules,
                                         const std::vector<std::vector<tulle::Token>>& sequences,
                                         tulle::CompressionOptions options, const PlanFiles& files) {
  if (!stage.forms) return nullptr;
  const tulle::FormRequest request = *stage.forms;
  const tulle::Json speeds = speeds_of(files, modules, request, options.threads, options.progress);
  const auto costs = tulle::read_costs(speeds["forms"], "speeds.json");
  tulle::check_budget(request, model, modules, costs);
  options.work_directory = files.scores;
  for (const tulle::MatrixForm& form : request.forms) options.settings["forms"].push_back(std::string(form.name));
  options.settings["layers"] = request.layers;
  const auto losses = tulle::score_forms(dense, model, sequences, request, options);
  const tulle::FormPlan plan = tulle::plan_forms(request, modules, losses, costs);
  tulle::set_forms(stage, plan);
  tulle::Json json = tulle::plan_json(plan);
  json["budget"] = tulle::Json::object();
  if (request.budget.bytes_per_weight) json["budget"]["bytes_per_weight"] = *request.budget.bytes_per_weight;
  if (request.budget.speedup) json["budget"]["speedup"] = *request.budget.speedup;
  if (!request.budget.form.empty()) json["budget"]["form"] = request.budget.form;
  json["speeds"] = speeds;
  return json;
}
