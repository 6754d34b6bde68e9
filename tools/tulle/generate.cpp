// SPDX-License-Identifier: Apache-2.0
/// \file tulle generate: continues a prompt.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/generate/text_generation.hpp>
#include <vector>

#include "command_line.hpp"
#include "generation_flags.hpp"
#include "interrupt.hpp"
#include "model_flags.hpp"
#include "pipeline.hpp"
#include "streams.hpp"

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* generate_footer =
    R"(Text is drawn when one of --temperature (above 0), --top-k, --top-p, --min-p, --typical-p and --seed is given;
else every token is the most probable one. The prompt is continued as it stands, its last line end included.
With --json: {"text", "tokens", "finish_reason": "stop"|"length"|"capacity"|"cancelled", "prompt_tokens",
"timings"}, "logprobs" with --logprobs, and a list "generations" with --num-return-sequences. Without it
several texts are parted by lines "---".

Examples:
  tulle generate -m model.gguf --prompt "def fibonacci(n):" --max-new-tokens 64
  tulle generate -m models/codegen --prompt-file code.py --temperature 0.8 --top-p 0.95 --seed 7 --stop $'\n\n'
  tulle generate -m models/llama-8b --lora adapters/sql --lora adapters/tone=0.5 --prompt "SELECT"
  echo "Once upon a time" | tulle generate -m model.gguf --json --logprobs)";

struct GenerateFlags {
  ModelFlags model;
  GenerationFlags generation{100};
  std::string prompt, prompt_file;
  CLI::Option* prompt_flag = nullptr;
  std::size_t sequences = 1;
  bool no_special_tokens = false, logprobs = false, json = false, verbose = false;
};

std::string read_prompt(const GenerateFlags& flags) {
  std::string prompt;
  if (flags.prompt_flag->count() > 0) {
    prompt = flags.prompt;
  } else if (!flags.prompt_file.empty() && flags.prompt_file != "-") {
    prompt = read_file(flags.prompt_file);
  } else {
    if (is_terminal(standard_input)) std::fputs("Type the prompt; Ctrl-D ends it.\n", stderr);
    prompt = read_all(standard_input, "standard input");
  }
  if (prompt.empty()) {
    tulle::fail(tulle::ErrorCode::invalid_argument,
                "the prompt is empty; give text with --prompt, --prompt-file or on standard input");
  }
  require_utf8(prompt, "the prompt");
  return prompt;
}

OrderedJson to_json(const tulle::GeneratedText& generation, bool logprobs) {
  OrderedJson object{{"text", generation.text},
                     {"tokens", generation.tokens},
                     {"finish_reason", tulle::finish_reason_name(generation.finish_reason)},
                     {"prompt_tokens", generation.prompt_tokens}};
  if (logprobs) object["logprobs"] = generation.log_probabilities;
  return object;
}

OrderedJson to_json(const tulle::Timings& timings, double load_seconds) {
  return {{"load_seconds", load_seconds},
          {"prefill_seconds", timings.prefill_seconds},
          {"decode_seconds", timings.decode_seconds},
          {"prefill_tokens_per_second", timings.prefill_tokens_per_second()},
          {"decode_tokens_per_second", timings.decode_tokens_per_second()},
          {"prompt_tokens", timings.prompt_tokens},
          {"generated_tokens", timings.generated_tokens}};
}

void print_json(const std::vector<tulle::GeneratedText>& generations, const tulle::Timings& timings,
                double load_seconds, bool logprobs, Output& output) {
  OrderedJson object = to_json(generations.front(), logprobs);
  if (generations.size() > 1) {
    for (const auto& generation : generations) object["generations"].push_back(to_json(generation, logprobs));
  }
  object["timings"] = to_json(timings, load_seconds);
  output.write(object.dump() + "\n");
}

void print_texts(const std::vector<tulle::GeneratedText>& generations, Output& output) {
  for (std::size_t i = 0; i < generations.size(); ++i) output.write((i == 0 ? "" : "\n---\n") + generations[i].text);
}

int generate(const GenerateFlags& flags) {
  tulle::GenerationOptions options = flags.generation.options();
  options.num_return_sequences = flags.sequences;
  options.add_special_tokens = !flags.no_special_tokens;
  options.log_probabilities = flags.logprobs;
  const std::string prompt = read_prompt(flags);

  ModelFlags model = flags.model;
  model.engine.max_sequences = flags.sequences;
  const auto begin = std::chrono::steady_clock::now();
  const auto pipeline = load_pipeline(model);
  const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  Interrupt interrupt(Interrupt::Again::ends_program);
  options.cancel = &interrupt.flag();
  Output output;
  tulle::TextStream stream = pipeline->stream(prompt, options);
  const bool shows_pieces = !flags.json && flags.sequences == 1;
  for (const tulle::TextPiece& piece : stream) {
    if (!shows_pieces || piece.text.empty()) continue;
    output.write(piece.text);
    output.flush();
  }
  const auto generations = stream.results();
  const tulle::Timings& timings = stream.timings();
  if (flags.json) {
    print_json(generations, timings, load_seconds, flags.logprobs, output);
  } else {
    if (!shows_pieces) print_texts(generations, output);
    if (is_terminal(standard_output)) output.write("\n");
  }
  output.flush();
  if (flags.verbose || is_terminal(standard_error)) {
    std::fprintf(stderr, "[load: %.2f s] [prefill: %zu tokens, %.1f tokens/s] [decode: %zu tokens, %.1f tokens/s]\n",
                 load_seconds, timings.prompt_tokens, timings.prefill_tokens_per_second(), timings.generated_tokens,
                 timings.decode_tokens_per_second());
  }
  return interrupt.raised() ? interrupted_status : 0;
}

}  // namespace

Command generate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("generate", "Continue a prompt, streaming the text");
  app->footer(generate_footer);
  const auto flags = std::make_shared<GenerateFlags>();
  flags->prompt_flag = app->add_option("-p,--prompt", flags->prompt, "The text to continue")->type_name("TEXT");
  app->add_option(flag_names("-f,--prompt-file"), flags->prompt_file,
                  "A file that holds it; without both: standard input")
      ->type_name("FILE")
      ->excludes(flags->prompt_flag);
  flags->model.add_to(*app);
  flags->generation.add_to(*app);
  app->add_option(flag_names("--num-return-sequences,--num-generated-predictions"), flags->sequences,
                  "Texts for the prompt; they share its prefill")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N")
      ->group("Length");
  app->add_flag(flag_names("--no-special-tokens"), flags->no_special_tokens,
                "Put nothing, such as <s>, around the prompt")
      ->group("Text");
  CLI::Option* json = app->add_flag("--json", flags->json, "Print one JSON object instead of the text")->group("Text");
  app->add_flag("--logprobs", flags->logprobs, "With --json: the log probability of every token")
      ->needs(json)
      ->group("Text");
  app->add_flag("-v,--verbose", flags->verbose, "Print the speed on stderr, also where that is no terminal")
      ->group("Text");
  return {app, [flags] { return generate(*flags); }};
}
