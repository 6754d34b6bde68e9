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

constexpr const char* footer =
    R"(Makes a sparse, quantized model out of a dense one: a decoder layer after the other, calibrated on a text. What a
recipe says is done, or without one what --sparsity, --structure and --bits say. DIR becomes a Hugging Face directory
that transformers, vLLM (8 bits) and Tulle read; the stages of a recipe go to DIR/stage_NAME. Beside the model stand
compression.json and compression.html: error, sparsity and time of every matrix, and the loss on held-out text.

--bytes-per-weight and --speedup choose the form of each matrix of the decoder layers (int8, int4, 8:16-gap4, 2:4, 4:16,
unstructured): by its error on the text, and its size and speed, which are measured once and kept in DIR/speeds.json.

Interrupted work (DIR.unfinished) goes on where it stopped when the same command is given again.

Examples:
  tulle compress models/llama-1b --dataset wiki.txt -o sparse --sparsity 0.5 --bits 8
  tulle compress model.gguf --dataset rows.jsonl --text-column instruction+output -o small --structure 8:16 --bits 4
  tulle compress models/llama-1b --dataset open_platypus.jsonl -o out --recipe recipe.yaml
  tulle compress models/llama-1b --dataset wiki.txt -o planned --bytes-per-weight 0.45
  tulle compress models/llama-1b --dataset wiki.txt -o planned --speedup 1.8
  tulle compress models/llama-1b --dataset wiki.txt -o survey --survey --second-dataset code.txt)";

struct CompressFlags {
  std::string model, directory, recipe, structure, allocation = "uniform", form = "compressed-tensors";
  std::optional<double> sparsity;
  tulle::FormBudget budget;
  bool survey = false;
  std::string second;
  std::vector<std::string> references, cells;
  std::size_t bits = 16, threads = 0;
  std::vector<std::string> variables;
  std::vector<tulle::AdapterPath> adapters;
  CalibrationFlags calibration;
  bool refine = false, force = false, json = false, quiet = false;
};

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
  if (flags.directory.empty()) throw UsageError("--output is required");
  if (flags.calibration.dataset.empty()) throw UsageError("--dataset is required");
  const bool by_flags = flags.sparsity || !flags.structure.empty() || flags.bits != 16 || flags.allocation != "uniform";
  const bool by_budget = flags.budget.bytes_per_weight || flags.budget.speedup;
  if (flags.survey) {
    if (by_flags || by_budget || !flags.recipe.empty()) {
      throw UsageError("--survey measures all forms; leave --recipe and what chooses forms out");
    }
    if (!flags.adapters.empty()) throw UsageError("--survey takes no --lora: compress the merged model");
    return survey(flags);
  }
  if (!flags.recipe.empty() && (by_flags || by_budget)) {
    throw UsageError(
        "--recipe says what is done; --sparsity, --structure, --allocation and --bits are for a run without one");
  }
  if (flags.budget.bytes_per_weight && flags.budget.speedup) {
    throw UsageError("give one of --bytes-per-weight and --speedup");
  }
  if (by_budget && by_flags) {
    throw UsageError("--bytes-per-weight and --speedup choose the forms; leave --sparsity, --structure and --bits out");
  }
  if (flags.recipe.empty() && !by_flags && !by_budget) {
    throw UsageError("give --recipe, --bytes-per-weight, --speedup, --sparsity, --structure, or --bits 8 or 4");
  }
  const auto stages = read_stages(flags);
  std::string path = model_path(flags.model);
  const std::filesystem::path root(flags.directory);
  tulle::Json reports = tulle::Json::array();
  ProgressBar bar;
  const tulle::Progress progress = flags.quiet ? tulle::Progress() : bar.progress();
  if (stages.empty()) {
    require_empty(flags.directory, flags.force);
    const MakePlan make_plan = [&](const tulle::ModuleList& modules) {
      if (by_budget) return tulle::plan_of_budget(modules, flags.budget);
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

void add_flags(CLI::App& app, CompressFlags& flags) {
  const auto add = [&](const char* names, auto& value, const char* type, const char* what) {
    return app.add_option(flag_names(names), value, what)->type_name(type);
  };
  const auto range = [](std::size_t min) { return CLI::Range(min, std::size_t{1} << 30).description(""); };
  app.add_option("MODEL,-m,--model", flags.model,
                 "A Hugging Face directory or a GGUF file; without it the default model that tools/run fetches")
      ->envname("TULLE_MODEL")
      ->type_name("PATH");
  add_adapters(app, flags.adapters);
  add("-o,--output", flags.directory, "DIR", "The directory to write");
  add("-d,--dataset", flags.calibration.dataset, "FILE", "Text to calibrate on: .txt, .jsonl, .json or .csv, also .gz");
  add("--recipe", flags.recipe, "FILE", "YAML of SparseML 1.7 or llm-compressor");
  add("--recipe-args", flags.variables, "NAME=VALUE", "Values of the recipe's variables")->expected(1)->take_all();
  add("--sparsity", flags.sparsity, "SHARE", "Share of weights that become zero")
      ->check(CLI::Range(0.0, 1.0).description(""));
  add("--structure", flags.structure, "N:M", "Of every M columns N stay: 2:4, 4:8, 8:16, 8:16-gap4; or row");
  add("--bits", flags.bits, "16|8|4", "Of a value: 8 with a scale per row, 4 in groups of 32, 16 as they are")
      ->check(CLI::IsMember({16, 8, 4}).description(""))
      ->capture_default_str();
  add("--bytes-per-weight", flags.budget.bytes_per_weight, "BYTES",
      "At most so many in the decoder's matrices, as packed for this CPU: each gets the form of least loss");
  add("--speedup", flags.budget.speedup, "FACTOR",
      "Decode so many times as fast as with int8, matrices alone: each gets the form of least loss");
  app.add_flag(flag_names("--survey"), flags.survey,
               "Measure every form, and plans of 0.60, 0.52, 0.45 and 0.40 bytes a weight; write survey.html");
  add("--second-dataset", flags.second, "FILE", "Of the survey: another text to measure on");
  add("--reference", flags.references, "PATH", "Of the survey: a file of the model to measure beside, as a GGUF")
      ->expected(1)
      ->take_all();
  add("--cells", flags.cells, "NAME", "Of the survey: only these forms and plans")->expected(1)->take_all();
  add("--allocation", flags.allocation, "uniform|rising|owl",
      "Of sparsity over the layers: rising from the first to the last, or by their outliers; from 60 % on")
      ->capture_default_str();
  app.add_flag(flag_names("--refine"), flags.refine,
               "Tune what is left of each block on the dense block's output: better, and about three times as long");
  add("--text-column", flags.calibration.text_column, "NAME+...", "Columns of the dataset whose texts are joined");
  add("-n,--num-samples", flags.calibration.samples, "N", "Sequences of the dataset")
      ->capture_default_str()
      ->check(range(1));
  add("--max-seq-length", flags.calibration.max_length, "N", "Tokens of a sequence")
      ->capture_default_str()
      ->check(range(2));
  add("--held-out", flags.calibration.held_out, "N", "Of the sequences, those that only measure; an eighth, at most 16")
      ->check(range(0));
  app.add_flag(flag_names("--apply-chat-template"), flags.calibration.chat,
               "Make each row's text the user's message in the model's chat template");
  add("--self-generate", flags.calibration.self_generated, "N", "Add N sequences that the dense model writes")
      ->capture_default_str()
      ->check(range(0));
  add("--format", flags.form, "compressed-tensors|bitmask", "Form of the result: see 'tulle export --help'")
      ->check(CLI::IsMember({"compressed-tensors", "bitmask"}).description(""))
      ->capture_default_str();
  add("--threads", flags.threads, "N", "0: one per core. The result does not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024).description(""));
  app.add_flag("--force", flags.force, "Also write where DIR is not empty");
  app.add_flag("--json", flags.json, "Print the report as JSON");
  app.add_flag("-q,--quiet", flags.quiet, "No progress bar");
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): flags that throw as they are declared are a defect of ours
int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_DFL);
  end_on_interrupt();
  CLI::App program("Make a sparse, quantized model out of a dense one.", "tulle compress");
  program.formatter(std::make_shared<HelpFormatter>());
  program.footer(footer);
  program.set_help_flag("-h,--help", "Print this help and exit");
  CompressFlags flags;
  add_flags(program, flags);
  return run_program(program, count, arguments, [&] { return compress(flags); }, "use fewer or shorter sequences");
}
