// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/engine.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <utility>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using testing::small_engine;
using testing::tiny_engine;

namespace {

std::optional<ErrorCode> code_of(const EngineOptions& options) {
  return test::error_of([&] { (void)tiny_engine("llama-tiny-gqa", options); });
}

}  // namespace

TEST_CASE("an engine tells what it is made of", "[generate][engine]") {
  EngineOptions options = small_engine();
  const auto engine = tiny_engine("llama-tiny-gqa", options);
  CHECK(engine->architecture().family == "llama");
  CHECK(engine->sequences().size() == 4);
  CHECK(engine->capacity() == 128);
  CHECK_FALSE(engine->running());
  const std::size_t before = engine->memory_bytes();
  CHECK(before > 0);
  (void)testing::prompt_logits(*engine, std::vector<Token>{1, 2, 3});
  CHECK(engine->memory_bytes() >= before);
}

TEST_CASE("without a sequence length an engine takes the model's own, at most 4096", "[generate][engine]") {
  EngineOptions options = small_engine();
  options.sequence_length = 0;
  CHECK(tiny_engine("llama-tiny-gqa", options)->capacity() == 256);
}

TEST_CASE("every cache keeps to the sequence length, but the one that slides", "[generate][engine]") {
  for (const std::string cache : {"contiguous", "paged"}) {
    EngineOptions options = small_engine();
    options.cache = cache;
    options.sequence_length = 20;
    const auto engine = tiny_engine("llama-tiny-gqa", options);
    CAPTURE(cache);
    CHECK(engine->capacity() == 20);
    CHECK(test::error_of([&] { (void)engine->start(std::vector<Token>(21, 5), SamplerChain(), {}); }) ==
          ErrorCode::capacity);
    SequenceOptions many;
    many.max_new_tokens = 1000;
    const SequenceId id = engine->start(std::vector<Token>(10, 5), SamplerChain(), many);
    CHECK(testing::finish_sequence(*engine, id).tokens.size() == 11);  // the last one needs no place
  }
  EngineOptions sliding = small_engine();
  sliding.cache = "sliding";
  sliding.sequence_length = 20;
  const auto engine = tiny_engine("llama-tiny-gqa", sliding);
  SequenceOptions many;
  many.max_new_tokens = 300;
  const SequenceId id = engine->start(std::vector<Token>(50, 5), SamplerChain(), many);
  CHECK(testing::finish_sequence(*engine, id).tokens.size() == 300);
}

TEST_CASE("the cache dtype follows the kernels where it is automatic", "[generate][engine]") {
  const auto bytes = [](const std::string& model, const std::string& dtype) {
    EngineOptions options = small_engine();
    options.cache_dtype = dtype;
    const auto engine = tiny_engine(model, options);
    const SequenceId id = engine->start(std::vector<Token>{1, 2, 3}, SamplerChain(), testing::only_logits());
    (void)testing::finish_logits(*engine, id);
    return engine->cache_bytes();
  };
  CHECK(bytes("gguf/f32.gguf", "auto") == bytes("gguf/f32.gguf", "f32"));
  CHECK(bytes("gguf/q4_0.gguf", "auto") == bytes("gguf/q4_0.gguf", "f16"));
  CHECK(bytes("gguf/q4_0.gguf", "f32") == 2 * bytes("gguf/q4_0.gguf", "f16"));
  CHECK(bytes("gguf/q4_0.gguf", "i8") < bytes("gguf/q4_0.gguf", "f16"));
}

TEST_CASE("prompts share what they begin with where the engine is made for it", "[generate][engine]") {
  for (const bool share : {false, true}) {
    EngineOptions options = small_engine();
    options.cache = "paged";
    options.share_prefixes = share;
    const auto engine = tiny_engine("llama-tiny-gqa", options);
    SequenceOptions only_read;
    only_read.max_new_tokens = 0;
    std::size_t rows[2] = {};
    for (std::size_t& each : rows) {
      const SequenceId id = engine->start(std::vector<Token>(100, 5), SamplerChain(), only_read);
      while (engine->running()) each += engine->step().rows;
      engine->sequences().release(id);
    }
    CHECK(rows[0] == 100);
    CHECK(rows[1] == (share ? 36 : 100));
  }
}

TEST_CASE("names and sizes that make no engine are errors", "[generate][engine]") {
  const std::vector<std::function<void(EngineOptions&)>> changes{
      [](EngineOptions& o) { o.cache = "ring"; },
      [](EngineOptions& o) { o.cache = ""; },
      [](EngineOptions& o) { o.cache_dtype = "f8"; },
      [](EngineOptions& o) { o.prefill_chunk = 0; },
      [](EngineOptions& o) { o.max_sequences = 0; },
      [](EngineOptions& o) { o.max_sequences = std::size_t{1} << 60; },
      [](EngineOptions& o) { o.sequence_length = std::size_t{1} << 40; },
      [](EngineOptions& o) { o.threads = 1'000'000; },
      [](EngineOptions& o) { o.cache = "sliding", o.window = std::size_t{1} << 40; },
      [](EngineOptions& o) { o.cache = "sliding", o.sinks = std::size_t{1} << 40; },
      [](EngineOptions& o) { o.cache = "paged", o.max_sequences = std::size_t{1} << 60; },
      [](EngineOptions& o) { o.share_prefixes = true; },
      [](EngineOptions& o) { o.cache = "sliding", o.share_prefixes = true; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EngineOptions options = small_engine();
    changes[i](options);
    CAPTURE(i);
    CHECK(code_of(options) == ErrorCode::invalid_argument);
  }
  try {
    EngineOptions options = small_engine();
    options.cache = "ring";
    (void)tiny_engine("llama-tiny-gqa", options);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("contiguous, sliding, paged") != std::string::npos);
  }
}

TEST_CASE("the paged cache may have less room than all its sequences could use", "[generate][engine]") {
  EngineOptions options = small_engine();
  options.cache = "paged";
  const auto bytes = [&](std::size_t positions) {
    options.cache_positions = positions;
    return tiny_engine("gguf/q8_0.gguf", options)->cache_bytes();
  };
  const std::size_t all = bytes(0), one = bytes(1);  // never less than one sequence needs
  CHECK(all == 4 * one);
  CHECK(bytes(200) == 2 * one);
  CHECK(bytes(100000) == all);
}
