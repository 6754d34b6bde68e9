// SPDX-License-Identifier: Apache-2.0
/// \file What does it cost that a text follows a grammar? At each position the sampler accepts the last token, computes
/// which may come, and bans the others.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_generation.hpp>
#include <tulle/sampling/constraint.hpp>

#include "compiled/grammar.hpp"
#include "measure.hpp"

namespace {

struct Task {
  const char *name, *prompt, *schema;  // an empty schema: any JSON object
};

// A record, a call of a tool, a list of nested records, a form with patterns and bounds, free JSON.
constexpr Task tasks[] = {
    {"a city", "Tell me about Paris as JSON.",
     R"({"type":"object","properties":{"name":{"type":"string"},"country":{"type":"string"},"population":{"type":
"integer","minimum":0},"capital":{"type":"boolean"}},"required":["name","country","population","capital"]})"},
    {"a call of a tool", "What is the weather in Oslo tomorrow?",
     R"({"type":"object","properties":{"name":{"const":"get_weather"},"arguments":{"type":"object","properties":{
"place":{"type":"string"},"day":{"enum":["today","tomorrow"]},"unit":{"enum":["celsius","fahrenheit"]}},
"required":["place","day","unit"]}},"required":["name","arguments"]})"},
    {"a list of recipes", "Write two recipes with ingredients and steps as JSON.",
     R"({"type":"object","properties":{"recipes":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"object",
"properties":{"title":{"type":"string"},"ingredients":{"type":"array","minItems":2,"maxItems":6,"items":{"type":
"object","properties":{"what":{"type":"string"},"grams":{"type":"number"}},"required":["what","grams"]}},"steps":{
"type":"array","minItems":1,"maxItems":4,"items":{"type":"string"}}},"required":["title","ingredients","steps"]}}},
"required":["recipes"]})"},
    {"a form", "Fill in the form for Ada Lovelace, born 1815, as JSON.",
     R"({"type":"object","properties":{"id":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"},"name":{"type":"string",
"maxLength":40},"birthday":{"type":"string","format":"date"},"score":{"type":"integer","minimum":0,"maximum":100},
"tags":{"type":"array","minItems":1,"maxItems":5,"items":{"enum":["science","art","music","sport"]}}},"required":[
"id","name","birthday","score","tags"]})"},
    {"any object", "Describe the planet Mars as JSON.", ""},
};

/// Of this process: on a shared machine others run between.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// The seconds of each position of a text, with the CPU's caches as a forward pass leaves them.
std::vector<double> positions(const std::shared_ptr<const tulle::Constraint>& constraint,
                              const std::vector<tulle::Token>& eos, const std::vector<tulle::Token>& text,
                              std::size_t vocabulary) {
  tulle::AlignedBuffer<std::size_t> weights(std::size_t{1} << 23);
  const tulle::Constrained constrained(constraint, eos);
  std::vector<float> logits(vocabulary);
  std::vector<double> seconds;
  std::size_t sum = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    sum += std::accumulate(weights.data(), weights.data() + weights.size(), std::size_t{0});
    std::fill(logits.begin(), logits.end(), static_cast<float>(sum));
    tulle::SamplingContext context;
    context.history = {text.data(), size};
    const double begin = cpu_seconds();
    constrained.apply(logits, context);
    seconds.push_back(cpu_seconds() - begin);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("What a grammar adds to a token, in CPU seconds of one thread");
  std::string path;
  std::size_t tokens = 300;
  app.add_option("MODEL", path, "A GGUF file or a directory, with a chat template")->required();
  app.add_option("--tokens", tokens, "Of a text, at most")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  tulle::TextGenerationOptions options;
  options.engine.threads = 1;
  tulle::TextGeneration generate(path, options);
  const std::vector<tulle::Token> eos = generate.engine().architecture().eos;
  const std::size_t vocabulary = generate.engine().vocabulary();
  std::unique_ptr<tulle::Grammars> grammars;
  double begin = cpu_seconds();
  grammars = make_grammars(generate.tokenizer(), vocabulary);
  std::printf("%s, %s, %zu tokens, prepared in %.0f ms\n\n", bench::processor_name().c_str(), path.c_str(), vocabulary,
              1e3 * (cpu_seconds() - begin));
  std::printf("| text | compiled, ms | tokens | a token, ms | its grammar, us: mean (median, max) | share |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const Task& task : tasks) {
    tulle::GenerationOptions generation;
    generation.max_new_tokens = tokens;
    begin = cpu_seconds();
    generation.sampling.constraint = *task.schema != 0 ? grammars->json_schema(task.schema) : grammars->json_object();
    const double compiled = cpu_seconds() - begin;
    const tulle::ChatMessage question{"user", task.prompt};
    std::vector<tulle::Token> text;
    double end = 0;
    for (const tulle::TextPiece& piece : generate.stream(generate.apply_chat_template({&question, 1}), generation)) {
      end = cpu_seconds();
      if (text.empty()) begin = end;
      if (piece.token >= 0) text.push_back(piece.token);  // the last one may hold no token
    }
    const double token = (end - begin) / static_cast<double>(text.size() - 1);
    const std::vector<double> grammar = positions(generation.sampling.constraint, eos, text, vocabulary);
    const double mean = std::accumulate(grammar.begin(), grammar.end(), 0.0) / static_cast<double>(grammar.size());
    std::printf("| %s | %.1f | %zu | %.2f | %.0f (%.0f, %.0f) | %.2f %% |\n", task.name, 1e3 * compiled, text.size(),
                1e3 * token, 1e6 * mean, 1e6 * bench::median(grammar),
                1e6 * *std::max_element(grammar.begin(), grammar.end()), 100 * mean / token);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_grammar: %s\n", error.what());
  return 1;
}
