// SPDX-License-Identifier: Apache-2.0
/// \file `tulle compress`, a program of its own: it alone links linear algebra and recipes. Exit status: as `tulle`.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tulle/compress/compress.hpp>
#include <tulle/compress/recipe.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/compress/work_directory.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/export/export_model.hpp>
#include <tulle/model/families.hpp>
#include <utility>
#include <vector>

#include "calibration.hpp"
#include "compress_flags.hpp"
#include "planning.hpp"
#include "report_html.hpp"
#include "report_text.hpp"
#include "survey.hpp"
#include "tools/tulle/command_line.hpp"
#include "tools/tulle/interrupt.hpp"
#include "tools/tulle/model_files.hpp"
#include "tools/tulle/model_path.hpp"
#include "tools/tulle/new_file.hpp"
#include "tools/tulle/progress_bar.hpp"
#include "tools/tulle/streams.hpp"

namespace {

std::size_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

/// The stages of the recipe, or the one that the flags mean.
std::vector<std::pair<std::string, tulle::RecipeStage>> read_stages(const CompressFlags& flags) {
  std::vector<std::pair<std::string, tulle::RecipeStage>> stages;
  if (flags.recipe.empty()) return stages;
  std::map<std::string, std::string> variables;
  for (const std::string& variable : flags.variables) {
    const std::size_t at = variable.find('=');
    if (at == std::string::npos || at == 0)
      throw UsageError("--recipe-args takes NAME=VALUE, not \"" + variable + "\"");
    variables[variable.substr(0, at)] = variable.substr(at + 1);
  }
  const tulle::Recipe recipe = tulle::parse_recipe(read_file(flags.recipe), flags.recipe, variables);
  for (const tulle::RecipeStage& stage : recipe.stages) {
    stages.emplace_back(stage.name == "default" ? "" : "stage_" + stage.name, stage);
  }
  return stages;
}

void require_empty(const std::string& directory, bool force) {
  std::error_code error;
  if (force || !std::filesystem::exists(directory, error)) return;
  bool is_empty = true;  // but for the speeds that a plan is to use
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    is_empty = is_empty && entry.path().filename() == "speeds.json";
  }
  if (is_empty) return;
  tulle::fail(tulle::ErrorCode::invalid_argument, directory, " is not empty; give another directory, or --force");
}

/// Compresses `path` into `directory` and returns the report. `plan_files`: else those of the directory.
tulle::Json compress_stage(const CompressFlags& flags, const std::string& path, const std::string& directory,
                           const std::vector<tulle::AdapterPath>& adapters, const MakePlan& make_plan,
                           const tulle::Progress& progress, const std::optional<PlanFiles>& plan_files = {}) {
  const auto checkpoint = open_checkpoint(path, adapters);
  const tulle::Architecture model = tulle::describe_model(checkpoint->config(), checkpoint->path());
  const tulle::ModuleList modules = tulle::module_list(model);
  tulle::StagePlan plan = make_plan(modules);
  if (flags.refine && !plan.refinement) plan.refinement.emplace();
  const Calibration calibration = read_calibration(flags.calibration, path, *checkpoint, progress);
  tulle::CompressionOptions options;
  options.held_out = calibration.held_out;
  options.work_directory = directory + ".unfinished";
  tulle::Json merged = tulle::Json::array();
  for (const tulle::AdapterPath& each : adapters) merged.push_back({each.path, each.scale});
  options.settings = {{"model", std::filesystem::absolute(path).string()},
                      {"adapters", merged},
                      {"model_bytes", checkpoint->size_bytes()},
                      {"held_out", calibration.held_out},
                      {"tokens", tulle::checksum(calibration.sequences)}};
  options.threads = flags.threads;
  options.progress = progress;
  tulle::Json forms;
  if (plan.forms) {
    const PlanFiles files = plan_files.value_or(PlanFiles{
        directory + "/speeds.json", options.work_directory + "/speeds.json", options.work_directory + "/scores"});
    forms = choose_forms_of_stage(plan, *checkpoint, model, modules, calibration.sequences, options, files);
  }
  options.settings["plan"] = tulle::settings_json(plan);
  const tulle::CompressedModel compressed = tulle::compress(*checkpoint, model, calibration.sequences, plan, options);

  tulle::ExportOptions export_options;
  export_options.form = flags.form == "bitmask" ? tulle::ExportForm::bitmask : tulle::ExportForm::compressed_tensors;
  export_options.replace = flags.force || !forms.is_null();
  export_options.progress = progress;
  const tulle::ExportReport written =
      tulle::export_model(*compressed.tensors, tulle::describe_checkpoint(*checkpoint), directory, export_options);

  tulle::Json json = tulle::report_json(compressed);
  json["model"] = path;
  json["recipe"] = flags.recipe;
  json["dataset"] = flags.calibration.dataset;
  json["samples"] = calibration.sequences.size() - calibration.held_out;
  json["held_out_samples"] = calibration.held_out;
  json["max_seq_length"] = flags.calibration.max_length;
  json["directory"] = directory;
  json["peak_memory_bytes"] = peak_memory();
  json["size"] = {{"dense_bytes", checkpoint->size_bytes()}, {"compressed_bytes", written.bytes}};
  for (const std::string& note : written.notes) json["notes"].push_back(note);
  const std::filesystem::path folder(directory);
  if (!forms.is_null()) {
    NewFile((folder / "speeds.json").string()).write(forms["speeds"].dump(2) + "\n");
    json["plan"] = std::move(forms);
  }
  NewFile((folder / "compression.json").string()).write(json.dump(2) + "\n");
  NewFile((folder / "compression.html").string()).write(compression_html(json));
  tulle::WorkDirectory(options.work_directory, options.settings).remove();
  return json;
}

/// Measures forms and plans; their scores and speeds stand beside the results, for all plans.
int survey(const CompressFlags& flags) {
  SurveyJob job;
  job.model = model_path(flags.model);
  job.dataset = flags.calibration.dataset;
  job.directory = flags.directory;
  job.cells = flags.cells;
  job.threads = flags.threads;
  for (const std::string& reference : flags.references) job.references.push_back(model_path(reference));
  ProgressBar bar;
  const tulle::Progress progress = flags.quiet ? tulle::Progress() : bar.progress();
  {
    const auto checkpoint = open_checkpoint(job.model, flags.adapters);
    job.modules = tulle::module_list(tulle::describe_model(checkpoint->config(), checkpoint->path()));
    Calibration calibration = read_calibration(flags.calibration, job.model, *checkpoint, progress);
    if (calibration.held_out == 0) throw UsageError("a survey measures on held-out text: --held-out must not be 0");
    auto& sequences = calibration.sequences;
    job.settings = {{"model_bytes", checkpoint->size_bytes()},
                    {"tokens", tulle::checksum(sequences)},
                    {"held_out", calibration.held_out}};
    sequences.erase(sequences.begin(), sequences.end() - static_cast<std::ptrdiff_t>(calibration.held_out));
    job.texts.push_back({flags.calibration.dataset, std::move(sequences)});
    if (!flags.second.empty()) {
      CalibrationFlags second = flags.calibration;
      second.dataset = flags.second;
      second.samples = calibration.held_out;
      second.held_out = second.self_generated = 0;
      job.texts.push_back({flags.second, read_calibration(second, job.model, *checkpoint, progress).sequences});
      job.settings["second"] = tulle::checksum(job.texts.back().sequences);
    }
  }
  CompressFlags stage = flags;
  stage.force = true;  // what an interrupted cell left is written again
  job.compress = [&](const std::string& directory, const MakePlan& make_plan) {
    const PlanFiles files{flags.directory + "/speeds.json", flags.directory + "/speeds.json",
                          flags.directory + "/scores"};
    return compress_stage(stage, job.model, directory, flags.adapters, make_plan, progress, files);
  };
  const tulle::OrderedJson found = run_survey(job);
  if (!flags.json) return 0;
  Output output;
  output.write(found.dump(2) + "\n");
  output.flush();
  return 0;
}

int compress(const CompressFlags& flags) {
  flags.check();
  if (flags.survey) return survey(flags);
  const auto stages = read_stages(flags);
  std::string path = model_path(flags.model);
  const std::filesystem::path root(flags.directory);
  tulle::Json reports = tulle::Json::array();
  ProgressBar bar;
  const tulle::Progress progress = flags.quiet ? tulle::Progress() : bar.progress();
  if (stages.empty()) {
    require_empty(flags.directory, flags.force);
    const MakePlan make_plan = [&](const tulle::ModuleList& modules) {
      if (flags.has_budget()) return tulle::plan_of_budget(modules, flags.budget);
      tulle::StagePlan plan = tulle::plan_of_flags(modules, flags.sparsity, flags.structure, flags.bits);
      tulle::allocate_sparsity(plan, modules, flags.allocation);
      return plan;
    };
    reports.push_back(compress_stage(flags, path, flags.directory, flags.adapters, make_plan, progress));
  }
  for (const auto& [folder, stage] : stages) require_empty((root / folder).string(), flags.force);
  std::vector<tulle::AdapterPath> adapters = flags.adapters;
  for (const auto& [folder, stage] : stages) {
    const std::string directory = folder.empty() ? flags.directory : (root / folder).string();
    const MakePlan make_plan = [&stage = stage](const tulle::ModuleList& modules) {
      return tulle::plan_stage(stage, modules);
    };
    reports.push_back(compress_stage(flags, path, directory, adapters, make_plan, progress));
    path = directory;
    adapters.clear();  // the first stage's result has them
  }
  Output output;
  for (const tulle::Json& report : reports) {
    output.write(flags.json ? report.dump(2) + "\n" : compression_text(report));
  }
  output.flush();
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): flags that throw as they are declared are a defect of ours
int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_DFL);
  end_on_interrupt();
  CLI::App program("Make a sparse, quantized model out of a dense one.", "tulle compress");
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "Print this help and exit");
  CompressFlags flags;
  flags.add_to(program);
  return run_program(program, count, arguments, [&] { return compress(flags); }, "use fewer or shorter sequences");
}
