// SPDX-License-Identifier: Apache-2.0
/// \file plain == chunked == batched == any thread count == after forking and truncating, bit for bit, on every kernel,
/// cache, element and instruction set.
#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::same_bits;
using testing::small_engine;
using testing::tiny_engine;

namespace {

constexpr std::size_t length = 75;  // more than one tile of positions

/// A quantized file with minima and an 8-bit head, a family of its own shape, and activations per token.
struct Subject {
  std::string model;
  std::string kernel;
};

struct Setting {
  std::string cache;
  std::size_t window;  // of the sliding cache
};

const std::vector<Setting> settings{{"contiguous", 0}, {"paged", 0}, {"sliding", 128}, {"sliding", 24}};

EngineOptions engine_options(const Setting& setting, const std::string& dtype, std::size_t chunk,
                             std::size_t threads = 1) {
  EngineOptions options = small_engine();
  options.cache = setting.cache;
  options.cache_dtype = dtype;
  options.window = setting.window;
  options.prefill_chunk = chunk;
  options.threads = threads;
  return options;
}

std::vector<float> from(const std::vector<float>& logits, std::size_t position) {
  const std::size_t vocabulary = logits.size() / length;
  return {logits.begin() + static_cast<std::ptrdiff_t>(position * vocabulary), logits.end()};
}

/// Between a sequence that generates already and others that come and go.
std::vector<float> batched(Engine& engine, const std::vector<Token>& tokens) {
  SequenceOptions going_on;
  going_on.max_new_tokens = 30;
  going_on.ignore_eos = true;
  const auto other = testing::random_tokens(40, 200, 78);
  (void)engine.start(std::span(other).first(5), SamplerChain(), going_on);
  engine.step();
  engine.step();
  const SequenceId late = engine.start(other, SamplerChain(), going_on);
  const SequenceId id = engine.start(tokens, SamplerChain(), testing::only_logits());
  (void)engine.start(std::span(other).first(23), SamplerChain(), testing::only_logits());
  std::vector<float> all;
  for (int steps = 0; engine.running(); ++steps) {
    engine.step([&](SequenceId of, Position, std::span<const float> logits) {
      if (of == id) all.insert(all.end(), logits.begin(), logits.end());
    });
    if (steps == 2) engine.sequences().release(late);
  }
  return all;
}

/// Forks and rolls back in the middle of the text: what comes after must be as if nothing had happened.
void check_history(Engine& engine, const std::vector<Token>& tokens, const std::vector<float>& plain) {
  constexpr std::size_t half = 50, cut = 41;
  const std::span<const Token> all(tokens);
  const SequenceId id = engine.start(all.first(half), SamplerChain(), testing::only_logits());
  (void)testing::finish_logits(engine, id);
  auto& sequences = engine.sequences();
  const SequenceId copy = sequences.open();
  sequences.fork(id, copy);
  const auto logits_after = [&](SequenceId of, std::span<const Token> more) {
    sequences.append(of, more);
    engine.run(of, SamplerChain(), testing::only_logits());
    return testing::finish_logits(engine, of);
  };
  (void)logits_after(id, std::vector<Token>{9, 8, 7});
  sequences.truncate(id, cut);
  CHECK(same_bits(logits_after(id, all.subspan(cut)), from(plain, cut)));
  CHECK(same_bits(logits_after(copy, all.subspan(half)), from(plain, half)));
  // A saved state goes on where it was, in another slot.
  std::vector<Token> saved_tokens;
  std::vector<std::byte> state;
  sequences.truncate(id, half);
  sequences.save(id, saved_tokens, state);
  sequences.release(id);
  const SequenceId restored = sequences.restore(saved_tokens, state);
  CHECK(same_bits(logits_after(restored, all.subspan(half)), from(plain, half)));
}

void check_bits(const Subject& subject) {
  const InstructionSet usual = active_instruction_set();
  const auto tokens = testing::random_tokens(length, 200, 77);
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::TinyModelsOn active(set);
    for (const std::string dtype : {"f32", "f16", "i8"}) {
      if (set != usual && dtype == "f16") continue;  // the other sets: briefly
      std::vector<float> contiguous;
      for (const Setting& setting : settings) {
        CAPTURE(subject.model, subject.kernel, setting.cache, setting.window, dtype, instruction_set_name(set));
        const auto run = [&](std::size_t chunk, std::size_t threads) {
          return tiny_engine(subject.model, engine_options(setting, dtype, chunk, threads), subject.kernel);
        };
        const auto plain = testing::prompt_logits(*run(length, 1), tokens);
        REQUIRE(plain.size() % length == 0);
        REQUIRE_FALSE(plain.empty());
        if (contiguous.empty()) contiguous = plain;
        CHECK(same_bits(plain, contiguous) == (setting.window != 24));
        const std::vector<std::size_t> chunks =
            set == usual ? std::vector<std::size_t>{1, 2, 3, 5, 8, 16, 33, 64} : std::vector<std::size_t>{5};
        for (const std::size_t chunk : chunks) {
          CAPTURE(chunk);
          CHECK(same_bits(testing::prompt_logits(*run(chunk, 1), tokens), plain));
        }
        CHECK(same_bits(batched(*run(16, 1), tokens), plain));
        if (set != usual) continue;
        check_history(*run(16, 1), tokens, plain);
        if (dtype != "i8") continue;  // threads share work by rows and heads, whatever the element
        for (const std::size_t threads : {2, 3}) {
          CAPTURE(threads);
          CHECK(same_bits(testing::prompt_logits(*run(33, threads), tokens), plain));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("the bits of dense_i8 are stable", "[generate][bit_stability]") {
  check_bits({"gguf/q4_1.gguf", "dense_i8"});
}

TEST_CASE("the bits of dense_i4 are stable", "[generate][bit_stability]") {
  check_bits({"gguf/q4_1.gguf", "dense_i4"});
}

TEST_CASE("the bits of dense_f32 are stable", "[generate][bit_stability]") {
  check_bits({"codegen-tiny", "dense_f32"});
}

TEST_CASE("the bits of dense_f16 are stable", "[generate][bit_stability]") {
  check_bits({"codegen-tiny", "dense_f16"});
}

TEST_CASE("the bits of layers with windows of their own are stable", "[generate][bit_stability]") {
  check_bits({"gemma3-tiny", "dense_f32"});
}

TEST_CASE("the bits of a model of several kernels are stable", "[generate][bit_stability]") {
  check_bits({"gguf/q4_1.gguf", "auto"});
}

TEST_CASE("the bits of a model quantized per token are stable", "[generate][bit_stability]") {
  check_bits({"llama-tiny-int8", "auto"});
}
