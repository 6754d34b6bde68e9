// SPDX-License-Identifier: Apache-2.0
/// \file tulle logits: the logits of a model after each of the given tokens.
#include <algorithm>
#include <charconv>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/engine.hpp>
#include <vector>

#include "command_line.hpp"
#include "interrupt.hpp"
#include "model_files.hpp"
#include "model_flags.hpp"
#include "model_path.hpp"
#include "new_file.hpp"
#include "npy_file.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"
#include "streams.hpp"

namespace {

constexpr const char* logits_footer =
    R"(Writes float32 [tokens, vocabulary] as a NumPy file: row i holds the raw logits that follow token i. No
tokenizer is needed. Ids are parted by commas or white space. Without --sequence-length there is room for all
tokens up to the model's context. The file takes its name when it is complete. It replaces a NumPy file of that name,
and no file of another kind.

Examples:
  tulle logits -m models/llama-8b --tokens 1,2,3 -o logits.npy
  tulle logits -m model.gguf --tokens-file ids.txt --kernel dense_f32 -o logits.npy)";

struct LogitsFlags {
  ModelFlags model;
  std::string tokens, tokens_file, output;
  CLI::Option* tokens_flag = nullptr;
};

/// Errors: malformed for text that is not a number, invalid_argument where there is no number.
std::vector<tulle::Token> parse_tokens(std::string_view text, const std::string& where) {
  constexpr std::string_view separators = ", \t\r\n[]";
  std::vector<tulle::Token> tokens;
  while (true) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(separators)));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find_first_of(separators));
    tulle::Token token = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || end != word.data() + word.size()) {
      tulle::fail(tulle::ErrorCode::malformed, where, ": \"", word.substr(0, 40), "\" is no token id");
    }
    tokens.push_back(token);
    text.remove_prefix(word.size());
  }
  if (tokens.empty()) tulle::fail(tulle::ErrorCode::invalid_argument, where, " holds no tokens; give at least one");
  return tokens;
}

std::vector<tulle::Token> read_tokens(const LogitsFlags& flags) {
  if (flags.tokens_flag->count() == 0) return parse_tokens(read_file(flags.tokens_file), flags.tokens_file);
  try {
    return parse_tokens(flags.tokens, "--tokens");
  } catch (const tulle::Error& error) {
    if (error.code() != tulle::ErrorCode::malformed) throw;
    throw UsageError(error.what());
  }
}

int logits(const LogitsFlags& flags) {
  if (flags.tokens_flag->count() == 0 && flags.tokens_file.empty())
    throw UsageError("--tokens or --tokens-file is required");
  if (flags.output.empty()) throw UsageError("--output is required");
  const std::vector<tulle::Token> tokens = read_tokens(flags);
  (void)replaceable_path(flags.output, FileKind::npy);  // its errors before a model is loaded
  const auto checkpoint = open_checkpoint(model_path(flags.model.path), flags.model.adapters);
  const auto model = load_model(*checkpoint, flags.model);

  tulle::EngineOptions options = flags.model.engine;
  options.max_sequences = 1;
  if (options.sequence_length == 0) {
    options.sequence_length = std::min(std::max<std::size_t>(tokens.size(), 1), model->architecture().context_length);
  }
  const auto engine = assemble_engine(model, options);
  tulle::SequenceOptions sequence;
  sequence.max_new_tokens = 0;
  sequence.prompt_logits = true;
  (void)engine->start(tokens, tulle::SamplerChain(), sequence);

  const Interrupt interrupt(Interrupt::Again::ends_program);  // leaves no part of a file behind
  NpyFile file(flags.output, tokens.size(), model->architecture().vocabulary);
  ProgressBar bar;
  const tulle::Progress progress = bar.progress();
  tulle::FinishReason reason = tulle::FinishReason::none;
  const auto observe = [&](tulle::SequenceId, tulle::Position position, std::span<const float> row) {
    file.append(row);
    if (progress) progress("logits", static_cast<double>(position + 1) / static_cast<double>(tokens.size()));
  };
  while (engine->running()) {
    if (interrupt.raised()) return interrupted_status;
    for (const tulle::Emission& emission : engine->step(observe).emissions) reason = emission.finish;
  }
  if (reason != tulle::FinishReason::length) {
    tulle::fail(tulle::ErrorCode::capacity, "the cache has no room for ", tokens.size(),
                " tokens; give a larger --sequence-length");
  }
  file.finish();
  return 0;
}

}  // namespace

Command logits_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("logits", "Write the logits that follow every token as a NumPy file");
  app->footer(logits_footer);
  const auto flags = std::make_shared<LogitsFlags>();
  flags->tokens_flag = app->add_option("--tokens", flags->tokens, "Token ids: 1,2,3")->type_name("IDS");
  app->add_option(flag_names("--tokens-file"), flags->tokens_file, "A file that holds them")
      ->type_name("FILE")
      ->excludes(flags->tokens_flag);
  app->add_option("-o,--output", flags->output, "The NumPy file to write")->type_name("FILE");
  flags->model.add_to(*app);
  return {app, [flags] { return logits(*flags); }};
}
