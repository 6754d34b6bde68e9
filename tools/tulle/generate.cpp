// SPDX-License-Identifier: Apache-2.0
/// \file tulle generate: continues a prompt.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tulle/core/json.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/prompt_cache.hpp>
#include <tulle/generate/text_generation.hpp>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "draft_flags.hpp"
#include "generation_flags.hpp"
#include "grammar_flags.hpp"
#include "interrupt.hpp"
#include "model_files.hpp"
#include "model_flags.hpp"
#include "model_path.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"
#include "streams.hpp"

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* generate_footer =
    R"(Text is drawn when one of --temperature (above 0), --top-k, --top-p, --min-p, --typical-p and --seed is given;
else every token is the most probable one. The prompt is continued as it stands, its last line end included.
With --json: {"text", "tokens", "finish_reason": "stop"|"length"|"capacity"|"cancelled", "prompt_tokens",
"timings"}, "logprobs" with --logprobs, a list "generations" with --num-return-sequences, and "speculation" with
--draft-model. Without it several texts are parted by lines "---". A prompt file may hold several prompts, each ended
by <endofprompt>; they are continued one after the other, with --json in a line each.

Drafts: something cheap guesses the next tokens, one pass of the model checks all of them, and the text is the same.
  ngram        copies what followed the last tokens before: summaries, edits, code
  self:KERNEL  the model itself with other weights, made when it is loaded: self:i4, self:8:16_gap4_i4
  PATH         a smaller model of the family, with the same tokens; or hf:org/name
  A+B          A guesses for B: ngram+self:i4, ngram+PATH, PATH+self:i4

Examples:
  tulle generate -m model.gguf --prompt "def fibonacci(n):" --max-new-tokens 64
  tulle generate -m hf:HuggingFaceTB/SmolLM2-135M-Instruct --prompt "The capital of France is"
  tulle generate -m models/codegen --prompt-file code.py --temperature 0.8 --top-p 0.95 --seed 7 --stop $'\n\n'
  tulle generate -m models/llama-8b --lora adapters/sql --lora adapters/tone=0.5 --prompt "SELECT"
  tulle generate -m model.gguf --kernel dense_f16 --draft-model self:i4 --compare-plain -v --prompt "Once upon a time"
  tulle generate -m model.gguf --prompt "A person as JSON: " --json-schema person.json
  echo "Once upon a time" | tulle generate -m model.gguf --json --logprobs)";

struct GenerateFlags {
  ModelFlags model;
  GenerationFlags generation{100};
  DraftFlags draft;
  GrammarFlags grammar;
  std::string prompt, prompt_file, prompt_cache;
  CLI::Option* prompt_flag = nullptr;
  std::size_t sequences = 1;
  bool no_special_tokens = false, logprobs = false, json = false, verbose = false, compare_plain = false;
};

std::string read_text(const GenerateFlags& flags) {
  if (flags.prompt_flag->count() > 0) return flags.prompt;
  if (!flags.prompt_file.empty() && flags.prompt_file != "-") return read_file(flags.prompt_file);
  if (is_terminal(standard_input)) std::fputs("Type the prompt; Ctrl-D ends it.\n", stderr);
  return read_all(standard_input, "standard input");
}

std::string stripped(const std::string& text) {
  const char* space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// The prompt; or those of a file that end with "<endofprompt>", without the space around them.
std::vector<std::string> read_prompts(const GenerateFlags& flags) {
  constexpr std::string_view end = "<endofprompt>";
  const std::string text = read_text(flags);
  require_utf8(text, "the prompt");
  std::vector<std::string> prompts;
  if (flags.prompt_flag->count() > 0 || text.find(end) == std::string::npos) {
    prompts.push_back(text);
  } else {
    std::size_t begin = 0;
    for (std::size_t at = 0; (at = text.find(end, begin)) != std::string::npos; begin = at + end.size()) {
      prompts.push_back(stripped(text.substr(begin, at - begin)));
    }
    const std::string rest = stripped(text.substr(begin));
    if (!rest.empty()) prompts.push_back(rest);
  }
  for (const std::string& prompt : prompts) {
    if (!prompt.empty()) continue;
    tulle::fail(tulle::ErrorCode::invalid_argument,
                "the prompt is empty; give text with --prompt, --prompt-file or on standard input");
  }
  return prompts;
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

/// One prompt's texts, and what it took to make them.
struct Continued {
  std::vector<tulle::GeneratedText> generations;
  tulle::Timings timings;
};

/// The same prompt without drafts, in the same run.
struct Comparison {
  double tokens_per_second = 0, speed_up = 0;
  bool same_text = false;
};

std::optional<Comparison> compare(tulle::TextGeneration& pipeline, const std::string& prompt,
                                  const tulle::GenerationOptions& options, const Continued& drafted) {
  if (pipeline.engine().speculation() == nullptr) return std::nullopt;
  auto speculation = pipeline.engine().speculate(nullptr);
  const tulle::TextGenerationOutput plain = pipeline(prompt, options);
  pipeline.engine().speculate(std::move(speculation));
  Comparison result{plain.timings.decode_tokens_per_second(), 0, true};
  if (result.tokens_per_second > 0) {
    result.speed_up = drafted.timings.decode_tokens_per_second() / result.tokens_per_second;
  }
  for (std::size_t i = 0; i < plain.generations.size(); ++i) {
    result.same_text = result.same_text && plain.generations[i].tokens == drafted.generations[i].tokens;
  }
  return result;
}

OrderedJson speculation_json(const GenerateFlags& flags, const tulle::SpeculationFigures& figures,
                             const std::optional<Comparison>& comparison) {
  OrderedJson object = figures_json(figures);
  object["verify"] = flags.draft.verification() == tulle::Verification::coupled ? "coupled" : "rejection";
  if (comparison) {
    object["plain_tokens_per_second"] = comparison->tokens_per_second;
    object["speed_up"] = comparison->speed_up;
    object["same_text"] = comparison->same_text;
  }
  return object;
}

void print_json(const Continued& result, double load_seconds, bool logprobs, const OrderedJson& speculation,
                Output& output) {
  OrderedJson object = to_json(result.generations.front(), logprobs);
  if (result.generations.size() > 1) {
    for (const auto& generation : result.generations) object["generations"].push_back(to_json(generation, logprobs));
  }
  object["timings"] = to_json(result.timings, load_seconds);
  if (!speculation.is_null()) object["speculation"] = speculation;
  output.write(object.dump() + "\n");
}

void print_texts(const std::vector<tulle::GeneratedText>& generations, Output& output) {
  for (std::size_t i = 0; i < generations.size(); ++i) output.write((i == 0 ? "" : "\n---\n") + generations[i].text);
}

void print_speed(const Continued& result, double load_seconds) {
  const tulle::Timings& timings = result.timings;
  std::fprintf(stderr, "[load: %.2f s] [prefill: %zu tokens, %.1f tokens/s] [decode: %zu tokens, %.1f tokens/s]\n",
               load_seconds, timings.prompt_tokens, timings.prefill_tokens_per_second(), timings.generated_tokens,
               timings.decode_tokens_per_second());
}

void print_speculation(const tulle::SpeculationFigures& figures, const std::optional<Comparison>& comparison) {
  std::fprintf(stderr, "[drafts: %zu tokens, %.1f %% of those examined accepted] [accepted in a pass: %.2f on average;",
               figures.drafted, 100 * figures.acceptance(), figures.mean_accepted());
  for (std::size_t accepted = 0; accepted < figures.histogram.size(); ++accepted) {
    std::fprintf(stderr, " %zu: %zu", accepted, figures.histogram[accepted]);
  }
  std::fputs("]\n", stderr);
  if (!comparison) return;
  std::fprintf(stderr, "[without drafts: %.1f tokens/s] [speed-up: %.2f] [%s text]\n", comparison->tokens_per_second,
               comparison->speed_up, comparison->same_text ? "the same" : "another");
}

void run_prompts(tulle::TextStream& stream) {
  ProgressBar bar;
  const tulle::Progress progress = bar.progress();
  while (!stream.has_piece() && stream.step()) {
    if (progress) progress("reading the prompt", stream.prompt_fraction());
  }
}

/// Shows the pieces where `shows` is true; drafted tokens are blue on a terminal.
Continued read_stream(tulle::TextStream stream, bool drafts, bool shows, Output& output) {
  const bool colours = drafts && is_terminal(standard_output) && std::getenv("NO_COLOR") == nullptr;
  run_prompts(stream);
  for (const tulle::TextPiece& piece : stream) {
    if (!shows || piece.text.empty()) continue;
    output.write(colours && piece.drafted ? "\x1b[34m" + piece.text + "\x1b[0m" : piece.text);
    output.flush();
  }
  return {stream.results(), stream.timings()};
}

/// Streams the text of one prompt. What `cache` holds of it is not computed again; then it holds the prompt.
Continued continue_prompt(tulle::TextGeneration& pipeline, const std::string& prompt,
                          const tulle::GenerationOptions& options, tulle::PromptCache* cache, bool shows,
                          Output& output) {
  const bool drafts = pipeline.engine().speculation() != nullptr;
  if (cache == nullptr) return read_stream(pipeline.stream(prompt, options), drafts, shows, output);
  const std::vector<tulle::Token> tokens =
      pipeline.tokenizer().encode(prompt, {.add_special_tokens = options.add_special_tokens});
  tulle::Session session = pipeline.session();
  const auto known = static_cast<std::ptrdiff_t>(cache->restore(session, tokens));
  Continued result = read_stream(session.start({tokens.begin() + known, tokens.end()}, options), drafts, shows, output);
  for (tulle::GeneratedText& generation : result.generations) generation.prompt_tokens = tokens.size();
  const tulle::GeneratedText& text = result.generations.front();
  const bool ended_in_prompt = text.finish_reason == tulle::FinishReason::cancelled && text.tokens.empty();
  if (!ended_in_prompt) cache->save(session, tokens.size());  // else it would never be completed
  return result;
}

std::uint64_t prompt_key(const ModelFlags& flags) {
  const auto checkpoint = open_checkpoint(model_path(flags.path), flags.adapters);
  return tulle::prompt_cache_key(*checkpoint, pack_options(flags), flags.engine);
}

int generate(const GenerateFlags& flags) {
  tulle::GenerationOptions options = flags.generation.options();
  options.num_return_sequences = flags.sequences;
  options.add_special_tokens = !flags.no_special_tokens;
  options.log_probabilities = flags.logprobs;
  options.verification = flags.draft.verification();
  const bool keeps_prompt = !flags.prompt_cache.empty();
  if (keeps_prompt && (flags.sequences != 1 || flags.model.engine.cache == "sliding")) {
    throw UsageError("--prompt-cache needs one text for each prompt, and a cache that is not sliding");
  }
  const tulle::DraftOptions draft = flags.draft.options();
  if (flags.compare_plain && draft.drafter.empty()) {
    throw UsageError("--compare-plain needs --draft-model or --prediction");
  }
  const std::vector<std::string> prompts = read_prompts(flags);

  ModelFlags model = flags.model;
  model.engine.max_sequences = flags.sequences;
  const auto begin = std::chrono::steady_clock::now();
  const auto pipeline = load_pipeline(model, draft);
  const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  options.sampling.constraint = flags.grammar.constraint(*pipeline);

  std::optional<tulle::PromptCache> prompt_cache;
  if (keeps_prompt) prompt_cache.emplace(flags.prompt_cache, prompt_key(model));

  Interrupt interrupt(Interrupt::Again::ends_program);
  options.cancel = &interrupt.flag();
  Output output;
  const bool shows_pieces = !flags.json && flags.sequences == 1;
  const bool reports = flags.verbose || is_terminal(standard_error);
  const auto* speculation = pipeline->engine().speculation();
  for (std::size_t i = 0; i < prompts.size() && !interrupt.raised(); ++i) {
    if (i != 0 && !flags.json) output.write("\n---\n");
    const Continued result =
        continue_prompt(*pipeline, prompts[i], options, prompt_cache ? &*prompt_cache : nullptr, shows_pieces, output);
    if (!flags.json && !shows_pieces) print_texts(result.generations, output);
    if (!flags.json && is_terminal(standard_output)) output.write("\n");
    output.flush();
    const auto is_cut = [](const auto& generation) {
      return generation.finish_reason == tulle::FinishReason::capacity;
    };
    if (!flags.json && std::any_of(result.generations.begin(), result.generations.end(), is_cut)) {
      std::fputs("tulle: the text ended at the sequence length; --sequence-length makes it larger\n", stderr);
    }
    const auto comparison =
        flags.compare_plain ? compare(*pipeline, prompts[i], options, result) : std::optional<Comparison>();
    if (flags.json) {
      OrderedJson figures;
      if (speculation != nullptr) figures = speculation_json(flags, speculation->figures(), comparison);
      print_json(result, load_seconds, flags.logprobs, figures, output);
      output.flush();
    }
    if (!reports) continue;
    print_speed(result, load_seconds);
    if (speculation != nullptr) print_speculation(speculation->figures(), comparison);
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
  app->add_option(flag_names("--prompt-cache"), flags->prompt_cache,
                  "A file that keeps the keys and values of the prompt: what the next prompt begins with alike is not "
                  "computed again, and the text is the same")
      ->type_name("FILE");
  flags->model.add_to(*app);
  flags->generation.add_to(*app);
  flags->grammar.add_to(*app);
  flags->draft.add_to(*app);
  flags->draft.add_text_flags_to(*app);
  app->add_flag(flag_names("--compare-plain"), flags->compare_plain,
                "Also generate without drafts, unseen, and report the speed-up")
      ->group("Drafts");
  app->add_option(flag_names("--num-return-sequences,--num-generated-predictions"), flags->sequences,
                  "Texts for the prompt; they share its prefill")
      ->capture_default_str()
      ->check(in_range(1, 1024))
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
