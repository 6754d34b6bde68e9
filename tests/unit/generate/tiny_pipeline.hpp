// SPDX-License-Identifier: Apache-2.0
/// \file Engines and pipelines over the golden models.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/generate/engine.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {
class TextGeneration;
}

namespace tulle::testing {

/// "llama-tiny-gqa" or "gguf/q8_0.gguf", packed once for every kernel and then kept.
std::shared_ptr<const Model<AnyKernel>> tiny_model(const std::string& name, std::string_view kernel = "auto");

/// Forces an instruction set while it lives, for which `tiny_model` packs anew. No engine may live before or after it.
class TinyModelsOn {
 public:
  explicit TinyModelsOn(InstructionSet set);
  ~TinyModelsOn();
  TinyModelsOn(const TinyModelsOn&) = delete;
  TinyModelsOn& operator=(const TinyModelsOn&) = delete;

 private:
  InstructionSet before_ = active_instruction_set();
};

std::unique_ptr<Engine> tiny_engine(const std::string& name, const EngineOptions& options,
                                    std::string_view kernel = "auto", std::size_t vocabulary = 0);

/// The tokenizer in a GGUF file: 288 tokens, eos 2, and a chat template.
std::shared_ptr<const Tokenizer> tiny_tokenizer();

std::unique_ptr<TextGeneration> tiny_pipeline(const EngineOptions& options = {}, std::string_view kernel = "dense_f32");

std::unique_ptr<TextGeneration> pipeline_from(const std::string& path, std::string_view kernel,
                                              const EngineOptions& options);

/// Where the parts of a pipeline are given.
std::unique_ptr<TextGeneration> pipeline_of(std::shared_ptr<const Model<AnyKernel>> model, std::string chat_template,
                                            const EngineOptions& options);

/// Small and quick: one thread, four sequences, prompts in chunks of 16.
inline EngineOptions small_engine() {
  EngineOptions options;
  options.cache_dtype = "f32";
  options.sequence_length = 128;
  options.prefill_chunk = 16;
  options.max_sequences = 4;
  options.threads = 1;
  return options;
}

inline SequenceOptions only_logits() {
  SequenceOptions options;
  options.max_new_tokens = 0;
  options.prompt_logits = true;
  return options;
}

/// Runs `id` alone to its end and returns the logits of all its rows [rows, vocabulary].
std::vector<float> finish_logits(Engine& engine, SequenceId id);

/// The logits that follow every token of a text; the engine is as before afterwards.
std::vector<float> prompt_logits(Engine& engine, std::span<const Token> tokens);

/// What a sequence generates.
struct Generated {
  std::vector<Token> tokens;
  std::vector<float> log_probabilities;
  FinishReason finish = FinishReason::none;

  void take(const StepReport& report, SequenceId id) {
    for (const Emission& emission : report.emissions) {
      if (emission.sequence != id) continue;
      if (emission.token >= 0) {
        tokens.push_back(emission.token);
        log_probabilities.push_back(emission.log_probability);
      }
      finish = emission.finish;
    }
  }
};

/// Runs everything to its end; what `id` generates.
template <class AnyGenerator>
Generated finish_sequence(AnyGenerator& generator, SequenceId id) {
  Generated result;
  while (generator.running()) result.take(generator.step(generator.plan()), id);
  return result;
}

Generated finish_sequence(Engine& engine, SequenceId id);

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace tulle::testing
