// SPDX-License-Identifier: Apache-2.0
/// \file tulle benchmark: speed of a model, compared with its own dense forms.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>
#include <vector>

#include "benchmark_html.hpp"
#include "benchmark_report.hpp"
#include "benchmark_subject.hpp"
#include "benchmark_text.hpp"
#include "command_line.hpp"
#include "model_flags.hpp"
#include "model_path.hpp"
#include "new_file.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"
#include "streams.hpp"
#include "synthetic_model.hpp"

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* benchmark_footer =
    R"(The first lines are DeepSparse's: an item is one step, which takes --input-ids-length tokens of every sequence
while the cache holds --num-kv-cache-tokens of them. The table then shows the model and its baselines (the same weights
as dense int8 and dense f32), which run interleaved; figures are medians. The bandwidth is the share of what the threads
read from memory in the same run. Prefill is the prompt's tokens per second of the time to the first token. The last
table tells what a pass over several rows of one sequence costs, in passes over one row: what speculative decoding pays.

--draft-shape lets a second synthetic model draft for the first. Synthetic models do not agree, so an oracle puts the
right token, with the probability --acceptance, in the place of each one that the draft model has run for. The text is
generated with and without drafts, three times; beside the speed-up is that which the measured cost of a drafted token
and of a pass over several rows predict.

--shape runs weights that mean nothing. --sparsity prunes every linear layer by magnitude, the head too, in memory:
that is for speed only. 2:4, 8:16 and the like imply their sparsity; in 8:16-gap4 no kept column is more than 4 after
the one before, which is what the 8:16 kernel reads.

Examples:
  tulle benchmark model.gguf
  tulle benchmark --shape codegen-350m --sparsity 0.5 --structure unstructured --threads 2
  tulle benchmark --shape codegen-6b --no-baselines --draft-shape codegen-350m --acceptance 0.6 0.8 0.9
  tulle benchmark models/llama-8b --structure 8:16 --no-baselines -x result.json --html result.html)";

struct BenchmarkFlags {
  ModelFlags model;
  std::string shape, structure, values, scenario = "sync", pinning = "none", baselines = "both", export_path, html_path;
  double sparsity = 0;
  BenchmarkPlan plan;
  std::string draft_shape;
  SpeculationPlan speculation;
  bool no_baselines = false, quiet = false, json = false, markdown = false;
  CLI::Option* sparsity_flag = nullptr;
};

Pruning wanted_pruning(const BenchmarkFlags& flags) {
  for (const Pruning& balanced : balanced_prunings()) {
    if (balanced.structure != flags.structure) continue;
    if (flags.sparsity_flag->count() != 0 && std::fabs(flags.sparsity - balanced.sparsity) > 1e-6) {
      throw UsageError("--structure " + flags.structure + " has a sparsity of " +
                       std::to_string(balanced.sparsity).substr(0, 4));
    }
    return balanced;
  }
  if (flags.structure == "unstructured" && flags.sparsity_flag->count() == 0)
    throw UsageError("--structure unstructured needs --sparsity");
  Pruning pruning;
  if (flags.sparsity > 0) pruning = {.sparsity = flags.sparsity, .structure = "unstructured"};
  return pruning;
}

/// The kernel of the model itself. Errors: UsageError.
std::string wanted_kernel(const BenchmarkFlags& flags, const Pruning& pruning) {
  if (flags.model.kernel != "auto") {
    if (!flags.values.empty()) throw UsageError("--values excludes --kernel");
    return flags.model.kernel;
  }
  if (flags.values == "i4") return pruning.structure == "unstructured" ? "ell_i4" : "i4";
  const bool quantizes = !flags.values.empty() || !flags.shape.empty() || pruning.prunes();
  return quantizes ? "i8" : "auto";
}

void check_draft(const BenchmarkFlags& flags) {
  if (flags.shape.empty()) throw UsageError("--draft-shape needs --shape");
  if (flags.plan.verify_rows < std::max<std::size_t>(flags.speculation.length + 1, 2)) {
    throw UsageError("--verify-rows must be above --spec-length and 1 for --draft-shape");
  }
  const std::size_t wanted = synthetic_architecture(flags.shape).vocabulary;
  const std::size_t drafted = synthetic_architecture(flags.draft_shape).vocabulary;
  if (drafted != wanted) {
    throw UsageError("--draft-shape " + flags.draft_shape + " has another vocabulary (" + std::to_string(drafted) +
                     " tokens) than --shape " + flags.shape + " (" + std::to_string(wanted) + ")");
  }
}

void check(const BenchmarkFlags& flags) {
  if (flags.pinning == "numa") {
    tulle::fail(tulle::ErrorCode::unsupported,
                "--thread-pinning numa is not built; use core, or bind the whole command to a node from outside");
  }
  if (!flags.shape.empty() && is_given(flags.model.path)) throw UsageError("--shape excludes a model");
  if (!flags.shape.empty() && !flags.model.adapters.empty()) throw UsageError("--shape excludes --lora");
  if (!flags.draft_shape.empty()) check_draft(flags);
  const std::size_t needed = flags.plan.sequence_length();
  const tulle::EngineOptions& engine = flags.model.engine;
  if (engine.sequence_length != 0 && engine.sequence_length < needed) {
    throw UsageError("--sequence-length must be at least " + std::to_string(needed) +
                     " for these --num-kv-cache-tokens, --input-ids-length, --prompt-tokens and --verify-rows");
  }
  if (engine.window != 0 && engine.window < needed) {
    throw UsageError("--window must be at least " + std::to_string(needed) +
                     ": a step is taken back after it is measured");
  }
}

std::vector<Contestant> contestants(const BenchmarkFlags& flags, tulle::EngineOptions engine,
                                    const BenchmarkSubject& subject, const std::string& kernel) {
  if (engine.sequence_length == 0) engine.sequence_length = flags.plan.sequence_length();
  std::vector<Contestant> all;
  all.emplace_back("model", subject.load(kernel), engine, flags.plan);
  for (const char* baseline : {"dense_i8", "dense_f32"}) {
    if (flags.no_baselines || (flags.baselines != "both" && flags.baselines != baseline)) continue;
    all.emplace_back(baseline, subject.load(baseline), engine, flags.plan);
  }
  if (!flags.draft_shape.empty()) {
    all.emplace_back("draft", BenchmarkSubject::of_shape(flags.draft_shape, {}).load("i8"), engine, flags.plan);
  }
  return all;
}

/// The flags that were given, with their values; true for one that takes none.
OrderedJson given_flags(const CLI::App& app) {
  OrderedJson given = OrderedJson::object();
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    OrderedJson& value = given[option->get_name()];
    if (option->get_items_expected_max() == 0) {
      value = true;
    } else {
      std::string values;
      for (const std::string& each : option->results()) values += (values.empty() ? "" : " ") + each;
      value = values;
    }
  }
  return given;
}

int benchmark(const BenchmarkFlags& flags, const CLI::App& app) {
  check(flags);
  const Pruning pruning = wanted_pruning(flags);
  const std::string kernel = wanted_kernel(flags, pruning);
  choose_instruction_set(flags.model.isa);
  if (flags.scenario != "sync" && !flags.quiet)
    std::fprintf(stderr, "tulle: scenario %s is not built; running sync\n", flags.scenario.c_str());

  const BenchmarkSubject subject =
      flags.shape.empty() ? BenchmarkSubject::of_model(model_path(flags.model.path), flags.model.adapters, pruning)
                          : BenchmarkSubject::of_shape(flags.shape, pruning);
  tulle::EngineOptions engine = flags.model.engine;
  engine.pin_threads = engine.pin_threads || flags.pinning == "core";
  if (engine.threads == 0) engine.threads = tulle::usable_core_count();
  BenchmarkResult result{.model = subject.name(),
                         .path = subject.path(),
                         .caveat = subject.caveat(),
                         .structure = subject.structure(),
                         .sparsity = subject.sparsity(),
                         .flags = given_flags(app),
                         .plan = flags.plan,
                         .threads = engine.threads,
                         .pinned = engine.pin_threads,
                         .contestants = contestants(flags, engine, subject, kernel),
                         .draft_shape = flags.draft_shape,
                         .speculation_plan = flags.speculation};
  NewFile json_file(flags.export_path, FileKind::json), html_file(flags.html_path, FileKind::html);
  {
    ProgressBar bar;
    tulle::ThreadPool pool(result.threads,
                           engine.pin_threads ? tulle::ThreadPlacement::own_cores : tulle::ThreadPlacement::anywhere);
    const tulle::Progress progress = flags.quiet ? tulle::Progress() : bar.progress();
    run_in_turns(result.contestants, flags.plan, pool, progress);
    if (!flags.draft_shape.empty()) {
      result.speculation =
          run_speculation(result.contestants.front(), result.contestants.back(), flags.speculation, progress);
    }
  }
  const auto report = benchmark_report(result);
  const std::string dump = report.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  json_file.write(dump);
  html_file.write(benchmark_html(report));
  Output output;
  output.write(flags.json ? dump : flags.markdown ? benchmark_markdown(report) : benchmark_text(report));
  output.flush();
  return 0;
}

void add_flags(CLI::App& app, BenchmarkFlags& flags) {
  const auto add = [&](const char* names, auto& value, const char* type, const char* what) {
    return app.add_option(flag_names(names), value, what)->capture_default_str()->type_name(type);
  };
  const auto add_name = [&](const char* names, std::string& value, const std::vector<std::string>& known,
                            const char* what, const std::string& shown = {}) {
    return add(names, value, "", what)
        ->check(CLI::IsMember(known).description(""))
        ->type_name(shown.empty() ? CLI::detail::join(known, "|") : shown);
  };
  constexpr std::size_t max = std::size_t{1} << 20;
  add_name("--shape", flags.shape, {synthetic_shapes.begin(), synthetic_shapes.end()},
           "Instead of a model: synthetic weights of this shape");
  flags.sparsity_flag = add("--sparsity", flags.sparsity, "S", "Prune by magnitude to this sparsity, for speed only")
                            ->check(in_range(0.0, 0.99));
  std::vector<std::string> structures{"unstructured"};
  for (const Pruning& balanced : balanced_prunings()) structures.emplace_back(balanced.structure);
  add_name("--structure", flags.structure, structures, "Where the zeros are");
  add_name("--values", flags.values, {"i8", "i4"}, "Quantize the weights");
  add_name("--baselines", flags.baselines, {"both", "dense_i8", "dense_f32", "none"},
           "What the model is compared with");
  app.add_flag(flag_names("--no-baselines"), flags.no_baselines, "The same as --baselines none; takes less memory");

  BenchmarkPlan& plan = flags.plan;
  add("-b,--batch-size", plan.batch, "N", "Sequences that a step continues")
      ->check(in_range(std::size_t{1}, std::size_t{1024}));
  add("--input-ids-length,--input-ids-len", plan.input_ids, "N", "Tokens of each that a step takes")
      ->check(in_range(std::size_t{1}, std::size_t{4096}));
  add("--num-kv-cache-tokens", plan.kv_tokens, "N", "Tokens of each that the cache holds before a step")
      ->check(in_range(std::size_t{0}, max));
  add("--prompt-tokens", plan.prompt_tokens, "N", "Length of the prompt whose prefill is measured")
      ->check(in_range(std::size_t{1}, max));
  add("--verify-rows", plan.verify_rows, "N",
      "Time passes over 2 to N tokens of one sequence, as speculative decoding verifies guesses; 1: none")
      ->check(in_range(std::size_t{1}, std::size_t{64}));
  CLI::Option* draft_shape =
      add_name("--draft-shape", flags.draft_shape, {synthetic_shapes.begin(), synthetic_shapes.end()},
               "With --shape: synthetic weights, in int8, of a model that drafts for it");
  add("--acceptance", flags.speculation.acceptances, "P...", "Shares of drafted tokens that are right")
      ->check(in_range(0.0, 1.0))
      ->needs(draft_shape);
  add("--spec-length", flags.speculation.length, "N",
      "Tokens of a draft; 0: as many as are best by the measured costs, below --verify-rows")
      ->check(in_range(std::size_t{0}, std::size_t{63}))
      ->needs(draft_shape);
  add("--draft-text", flags.speculation.tokens, "N", "Tokens of the text that is generated with and without drafts")
      ->check(in_range(std::size_t{2}, std::size_t{1} << 16))
      ->needs(draft_shape);
  add("-t,--time", plan.seconds, "S",
      "Seconds of measured steps of each model; below 0.1 the bandwidth is that of 32 MiB, which caches may hold")
      ->check(in_range(1e-3, 1e6));
  add("-w,--warmup-time", plan.warmup_seconds, "S", "Seconds of steps of each before that")->check(in_range(0.0, 1e6));
  add_name("-s,--scenario", flags.scenario, {"sync", "async", "elastic", "singlestream", "multistream"},
           "What DeepSparse knows; all run as sync", "sync|async|elastic");
  add_name("--thread-pinning", flags.pinning, {"none", "core", "numa"}, "As DeepSparse spells it: core is --pin",
           "none|core");
  add("-x,--export-path", flags.export_path, "FILE", "Also write the JSON object to this file");
  add("--html", flags.html_path, "FILE", "Also write a page with charts to this file");
  CLI::Option* json = app.add_flag("--json", flags.json, "Print one JSON object");
  app.add_flag("--markdown", flags.markdown, "Print facts and tables in markdown")->excludes(json);
  app.add_flag("-q,--quiet", flags.quiet, "No notes and no progress on stderr");
  flags.model.add_to(app);
  app.add_option("--ncores", flags.model.engine.threads)->check(in_range(std::size_t{0}, std::size_t{1024}))->group("");
  app.add_option(flag_names("--seq-len"), flags.model.engine.sequence_length)
      ->check(in_range(std::size_t{0}, max))
      ->group("");
}

}  // namespace

Command benchmark_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("benchmark", "Measure how fast a model is, beside its own dense forms");
  app->footer(benchmark_footer);
  const auto flags = std::make_shared<BenchmarkFlags>();
  add_flags(*app, *flags);
  return {app, [flags, app] { return benchmark(*flags, *app); }};
}
