// SPDX-License-Identifier: Apache-2.0
/// \file SmolLM2-135M-Instruct (Q4_1) as transformers runs it: tests/golden/smollm2.json. Skipped where the environment
/// does not name the file as TULLE_TEST_MODEL.
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <memory>
#include <string>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <tulle/core/mapped_file.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/text_generation.hpp>

#include "unit/generate/golden_model.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;

namespace {

std::string model_path() {
  const char* path = std::getenv("TULLE_TEST_MODEL");
  if (path == nullptr || *path == '\0') SKIP("TULLE_TEST_MODEL does not name SmolLM2-135M-Instruct.Q4_1.gguf");
  return path;
}

const Json& golden() {
  static const Json facts = testing::golden_json("smollm2.json");
  return facts;
}

EngineOptions short_texts(const std::string& cache_dtype = "auto") {
  EngineOptions options;
  options.cache_dtype = cache_dtype;
  options.sequence_length = 512;
  options.prefill_chunk = 128;
  options.max_sequences = 5;
  return options;
}

PackOptions packed_for(std::string_view kernel) {
  PackOptions pack;
  pack.kernel = kernel_choice(kernel);
  return pack;
}

/// Windows of the prose that are scored; tools/check perplexity scores all 8.
constexpr std::size_t windows = 3, window = 512;

/// The sum of -log p over positions 1 .. of those windows, each by itself.
struct Scored {
  double nll = 0;
  std::size_t tokens = 0;
  double perplexity() const { return std::exp(nll / static_cast<double>(tokens)); }
};

Scored score(Engine& engine, const std::vector<Token>& tokens) {
  Scored result;
  SequenceOptions options;
  options.max_new_tokens = 0;
  options.prompt_logits = true;
  for (std::size_t begin = 0; begin < windows * window; begin += window) {
    const std::span<const Token> part = std::span(tokens).subspan(begin, window);
    const SequenceId id = engine.start(part, SamplerChain(), options);
    while (engine.running()) {
      engine.step([&](SequenceId, Position position, std::span<const float> logits) {
        if (position + 1 >= window) return;
        result.nll -= log_probability(logits, part[position + 1]);
        ++result.tokens;
      });
    }
    engine.sequences().release(id);
  }
  return result;
}

std::vector<Token> prose(const Tokenizer& tokenizer) {
  const MappedFile file(TULLE_GOLDEN "/prose.txt");
  return tokenizer.encode(file.text());
}

/// A number of /proc/self/status in bytes, 0 where there is none.
std::size_t memory_status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == key + ":") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return 1024 * kilobytes;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("greedy texts of the real model are those of transformers", "[generate][golden][real_model]") {
  const std::string path = model_path();
  const auto pipeline = testing::pipeline_from(path, "dense_f32", short_texts("f32"));
  SequenceOptions options;
  options.max_new_tokens = 64;
  options.ignore_eos = true;
  std::vector<SequenceId> sequences;
  for (const Json& entry : golden()["prompts"]) {
    const auto ids = entry["ids"].get<std::vector<Token>>();
    const auto text = entry["text"].get<std::string>();
    CAPTURE(text);
    CHECK(pipeline->tokenizer().encode(text) == ids);
    sequences.push_back(pipeline->engine().start(ids, SamplerChain(), options));
  }
  // All of them at once: no text depends on its neighbours.
  std::vector<testing::Generated> texts(sequences.size());
  while (pipeline->engine().running()) {
    const StepReport report = pipeline->engine().step();
    for (std::size_t i = 0; i < texts.size(); ++i) texts[i].take(report, sequences[i]);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    CHECK(texts[i].tokens == golden()["prompts"][i]["greedy"].get<std::vector<Token>>());
  }
  // The fifth is the chat template's.
  std::vector<ChatMessage> messages;
  for (const Json& message : golden()["chat_messages"]) messages.push_back({message["role"], message["content"]});
  CHECK(pipeline->apply_chat_template(messages) == golden()["prompts"].back()["text"].get<std::string>());
}

TEST_CASE("the best logits of the real model are those of transformers", "[generate][golden][real_model]") {
  const auto pipeline = testing::pipeline_from(model_path(), "dense_f32", short_texts("f32"));
  const Json& top = golden()["top20"];
  const auto ids = top["ids"].get<std::vector<Token>>();
  const auto logits = testing::prompt_logits(pipeline->engine(), ids);
  const std::size_t vocabulary = logits.size() / ids.size();
  double largest = 0;
  for (std::size_t position = 0; position < ids.size(); ++position) {
    const Json& wanted = top["positions"][position];
    const std::span<const float> row(logits.data() + position * vocabulary, vocabulary);
    for (std::size_t i = 0; i < wanted["ids"].size(); ++i) {
      const auto token = wanted["ids"][i].get<std::size_t>();
      largest = std::max(largest, std::fabs(row[token] - wanted["logits"][i].get<double>()));
    }
    const auto best = wanted["ids"][0].get<Token>();
    const double log_sum = row[static_cast<std::size_t>(best)] - log_probability(row, best);
    largest = std::max(largest, std::fabs(log_sum - wanted["log_sum_exp"].get<double>()));
  }
  CAPTURE(largest);
  CHECK(largest < 2e-3);
}

TEST_CASE("the perplexity of the real model is that of transformers, and its integer kernels keep it",
          "[generate][golden][real_model]") {
  const std::string path = model_path();
  const Json& wanted = golden()["prose"];
  const auto tokenizer = load_tokenizer(path);
  const auto tokens = prose(*tokenizer);
  REQUIRE(tokens.size() == wanted["tokens"].get<std::size_t>());
  const auto perplexity = [&](std::string_view kernel) {
    const auto pipeline = testing::pipeline_from(path, kernel, short_texts());
    const Scored scored = score(pipeline->engine(), tokens);
    CHECK(scored.tokens == windows * (window - 1));
    return scored.perplexity();
  };
  Scored expected{0, windows * (window - 1)};
  for (std::size_t i = 0; i < windows; ++i) expected.nll += wanted["window_nll"][i].get<double>();
  const double reference = expected.perplexity();
  const double f32 = perplexity("dense_f32"), i8 = perplexity("dense_i8"), automatic = perplexity("auto");
  WARN(std::setprecision(7) << "perplexity: transformers " << reference << ", dense_f32 " << f32 << ", dense_i8 " << i8
                            << " (" << 100 * (i8 / f32 - 1) << " %), auto " << automatic << " ("
                            << 100 * (automatic / f32 - 1) << " %)");
  CHECK(std::fabs(f32 / reference - 1) < 0.01);
  CHECK(i8 / f32 - 1 < 0.007);
  CHECK(automatic / f32 - 1 < 0.01);
}

TEST_CASE("loading the real model takes little more memory than its packed weights", "[generate][golden][real_model]") {
  const std::string path = model_path();
  for (const std::string_view kernel : {"auto", "dense_i8", "dense_f32"}) {
#if defined(__GLIBC__)
    malloc_trim(0);  // memory that earlier tests gave back must not serve again unseen
#endif
    std::ofstream reset("/proc/self/clear_refs");
    reset << "5" << std::flush;  // the peak begins here: proc(5)
    if (!reset || memory_status("VmHWM") == 0) SKIP("this system does not measure the peak of a process's memory");
    const std::size_t before = memory_status("VmRSS");
    const auto model = Model<AnyKernel>::load(path, packed_for(kernel));
    const std::size_t peak = memory_status("VmHWM"), after = memory_status("VmRSS"),
                      packed = model->weights().size_bytes();
    const auto share = [&](std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(packed); };
    WARN(kernel << ": packed " << packed << " bytes; peak " << share(peak - before) << ", afterwards "
                << share(after - before) << " of them");
    CHECK(share(peak - before) <= 1.3);
  }
}
