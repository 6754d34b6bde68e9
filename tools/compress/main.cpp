// SPDX-License-Identifier: Apache-2.0
/// \file `tulle compress`, a program of its own: it alone links linear algebra and recipes. Exit status: as `tulle`.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tulle/compress/compress.hpp>
#include <tulle/compress/recipe.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/compress/work_directory.hpp>
#include <tulle/core/content_hash.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/dataset/named_dataset.hpp>
#include <tulle/format/dataset/read_dataset.hpp>
#include <tulle/format/export/export_model.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/model/families.hpp>
#include <utility>
#include <vector>

#include "calibration.hpp"
#include "compress_flags.hpp"
#include "output_directory.hpp"
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

/// Names the state of a model's or an adapter's files.
std::string state_of(const std::string& path) {
  return std::to_string(tulle::model_state(path));
}

struct StageResult {
  tulle::Json report;
  bool was_done = false;  ///< by an earlier run with the same settings
};

/// Compresses `path` into `directory`. `plan_files`: else those of the directory.
StageResult compress_stage(const CompressFlags& flags, const std::string& path, const std::string& directory,
                           const std::vector<tulle::AdapterPath>& adapters, const MakePlan& make_plan,
                           const tulle::Progress& progress, const std::optional<PlanFiles>& plan_files = {}) {
  const auto checkpoint = open_checkpoint(path, adapters);
  const tulle::Architecture model = tulle::describe_model(checkpoint->config(), checkpoint->path());
  const tulle::ModuleList modules = tulle::module_list(model);
  tulle::StagePlan plan = make_plan(modules);
  if (flags.refine && !plan.refinement) plan.refinement.emplace();
  const Calibration calibration = read_calibration(flags.calibration, flags.threads, path, *checkpoint, progress);
  tulle::CompressionOptions options;
  options.held_out = calibration.held_out;
  options.work_directory = work_directory(directory);
  tulle::Json merged = tulle::Json::array();
  for (const tulle::AdapterPath& each : checkpoint->adapters()) merged.push_back({state_of(each.path), each.scale});
  options.settings = {{"model", state_of(path)},
                      {"adapters", merged},
                      {"held_out", calibration.held_out},
                      {"tokens", tulle::checksum(calibration.sequences)}};
  tulle::Json whole = options.settings;
  whole["plan"] = tulle::settings_json(plan);
  whole["form"] = flags.form;
  const std::string settings = std::to_string(tulle::content_hash(whole.dump()));
  remove_finished_work(directory);
  if (!flags.force) {
    const auto has_same_speeds = [&](const tulle::Json& report) {
      const std::string file = directory + "/speeds.json";
      return !plan.forms || (std::filesystem::exists(file) &&
                             tulle::parse_json(read_file(file), file) ==
                                 report.value("plan", tulle::Json::object()).value("speeds", tulle::Json()));
    };
    auto report = finished_report(directory, settings);
    if (report && has_same_speeds(*report)) return {std::move(*report), true};
  }
  require_writable(directory, flags.force);
  options.threads = flags.threads;
  options.progress = progress;
  const PlanFiles files = plan_files.value_or(PlanFiles{
      directory + "/speeds.json", options.work_directory + "/speeds.json", options.work_directory + "/scores"});
  tulle::Json forms = choose_forms_of_stage(plan, *checkpoint, model, modules, calibration.sequences, options, files);
  options.settings["plan"] = tulle::settings_json(plan);
  std::span<const std::vector<tulle::Token>> sequences = calibration.sequences;
  if (flags.survey) {  // which evaluates what it made itself
    sequences = sequences.first(sequences.size() - options.held_out);
    options.held_out = 0;
  }
  const tulle::CompressedModel compressed = tulle::compress(*checkpoint, model, sequences, plan, options);

  tulle::ExportOptions export_options;
  export_options.form = flags.form == "bitmask" ? tulle::ExportForm::bitmask : tulle::ExportForm::compressed_tensors;
  export_options.replace = true;
  export_options.progress = progress;
  require_writable(directory, flags.force);
  begin_output(directory);
  const tulle::ExportReport written =
      tulle::export_model(*compressed.tensors, tulle::describe_checkpoint(*checkpoint), directory, export_options);

  tulle::Json json = tulle::report_json(compressed);
  json["settings"] = settings;
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
    NewFile((folder / "speeds.json").string()).write(json_text(forms["speeds"]));
    json["plan"] = std::move(forms);
  }
  NewFile((folder / "compression.html").string()).write(compression_html(json));
  tulle::write_file((folder / "compression.json").string(), json_text(json));  // the last: all is done
  tulle::WorkDirectory(options.work_directory, options.settings).remove();
  return {std::move(json), false};
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
    Calibration calibration = read_calibration(flags.calibration, flags.threads, job.model, *checkpoint, progress);
    if (calibration.held_out == 0) {
      throw UsageError("a survey measures on held-out text, and of " + std::to_string(calibration.sequences.size()) +
                       " sequences none is held out; give --held-out 1 or more");
    }
    auto& sequences = calibration.sequences;
    job.settings = {
        {"model", state_of(job.model)}, {"tokens", tulle::checksum(sequences)}, {"held_out", calibration.held_out}};
    if (flags.refine) job.settings["refine"] = true;
    sequences.erase(sequences.begin(), sequences.end() - static_cast<std::ptrdiff_t>(calibration.held_out));
    job.texts.push_back({flags.calibration.dataset, std::move(sequences)});
    if (!flags.second.empty()) {
      CalibrationFlags second = flags.calibration;
      second.dataset = flags.second;
      const std::string second_path = tulle::find_dataset(flags.second).path;
      if (second_path != flags.second || tulle::is_stream(second_path))
        second.text_column.clear();  // it has its own, or none
      second.samples = calibration.held_out;
      second.held_out = second.self_generated = 0;
      job.texts.push_back(
          {flags.second, read_calibration(second, flags.threads, job.model, *checkpoint, progress).sequences});
      job.settings["second"] = tulle::checksum(job.texts.back().sequences);
    }
  }
  CompressFlags stage = flags;
  stage.force = true;  // what an interrupted cell left is written again
  const PlanFiles files{flags.directory + "/speeds.json", flags.directory + "/speeds.json",
                        flags.directory + "/scores"};
  job.compress = [&](const std::string& directory, const MakePlan& make_plan) {
    return compress_stage(stage, job.model, directory, flags.adapters, make_plan, progress, files).report;
  };
  const tulle::OrderedJson found = run_survey(job);
  if (!flags.json) return 0;
  Output output;
  output.write(json_text(found));
  output.flush();
  return 0;
}

int compress(CompressFlags flags) {
  flags.check();
  flags.directory = plain_path(flags.directory).string();
  require_writable(flags.directory, true);
  if (flags.survey) return survey(flags);
  struct Step {
    std::string directory;
    MakePlan make_plan;
  };
  std::vector<Step> steps;
  if (flags.recipe.empty()) {
    steps.push_back({flags.directory, [&](const tulle::ModuleList& modules) {
                       if (flags.has_budget()) return tulle::plan_of_budget(modules, flags.budget);
                       tulle::StagePlan plan =
                           tulle::plan_of_flags(modules, flags.sparsity, flags.structure, flags.bits);
                       tulle::allocate_sparsity(plan, modules, flags.allocation);
                       return plan;
                     }});
  }
  for (const auto& [folder, stage] : read_stages(flags)) {
    steps.push_back({folder.empty() ? flags.directory : flags.directory + "/" + folder,
                     [stage = stage](const tulle::ModuleList& modules) { return tulle::plan_stage(stage, modules); }});
  }
  bool may_be_done = !flags.force;  // a step and all before it
  for (const Step& step : steps) {
    may_be_done = may_be_done && has_report(step.directory);
    if (!may_be_done) require_writable(step.directory, flags.force);
  }
  std::string path = model_path(flags.model);
  std::vector<tulle::AdapterPath> adapters = flags.adapters;
  std::vector<tulle::Json> reports;
  ProgressBar bar;
  const tulle::Progress progress = flags.quiet ? tulle::Progress() : bar.progress();
  bool was_done = true;
  for (const Step& step : steps) {
    if (!was_done) {  // what was begun is of another result of the step before
      std::error_code ignored;
      std::filesystem::remove_all(work_directory(step.directory), ignored);
    }
    StageResult result = compress_stage(flags, path, step.directory, adapters, step.make_plan, progress);
    was_done = was_done && result.was_done;
    reports.push_back(std::move(result.report));
    path = step.directory;
    adapters.clear();  // the first result has them
  }
  Output output;
  if (flags.json) output.write(json_text(reports.size() == 1 ? reports.front() : tulle::Json(reports)));
  for (const tulle::Json& report : reports) {
    if (!flags.json) output.write(compression_text(report));
  }
  output.flush();
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): flags that throw as they are declared are a defect of ours
int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches its limit: an error of the write
  end_on_interrupt();
  CLI::App program("Make a sparse, quantized model out of a dense one.", "tulle compress");
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "Print this help and exit");
  CompressFlags flags;
  flags.add_to(program);
  return run_program(program, count, arguments, [&] { return compress(flags); }, "use fewer or shorter sequences");
}
