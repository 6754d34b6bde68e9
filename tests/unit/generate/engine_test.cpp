// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/engine.hpp>

#include <catch2/catch_all.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tulle/generate/text_generation.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"

namespace tulle::testing {

namespace {

PackOptions packed_for(std::string_view kernel) {
  PackOptions pack;
  pack.kernel = kernel_choice(kernel);
  return pack;
}

}  // namespace

std::shared_ptr<const Model<AnyKernel>> tiny_model(const std::string& name, std::string_view kernel) {
  static std::map<std::string, std::shared_ptr<const Model<AnyKernel>>> models;
  auto& model = models[name + " " + std::string(kernel)];
  if (model == nullptr) model = Model<AnyKernel>::load(TULLE_GOLDEN "/models/" + name, packed_for(kernel));
  return model;
}

std::unique_ptr<Engine> tiny_engine(const std::string& name, const EngineOptions& options, std::string_view kernel,
                                    std::size_t vocabulary) {
  return make_engine(tiny_model(name, kernel), options, vocabulary);
}

std::shared_ptr<const Tokenizer> tiny_tokenizer() {
  static const auto tokenizer = load_tokenizer(TULLE_GOLDEN "/models/gguf/f32.gguf");
  return tokenizer;
}

std::unique_ptr<TextGeneration> tiny_pipeline(const EngineOptions& options, std::string_view kernel) {
  return pipeline_of(tiny_model("gguf/f32.gguf", kernel), load_chat_template(TULLE_GOLDEN "/models/gguf/f32.gguf"), options);
}

std::unique_ptr<TextGeneration> pipeline_from(const std::string& path, std::string_view kernel, const EngineOptions& options) {
  TextGenerationOptions all;
  all.kernel = std::string(kernel);
  all.engine = options;
  return std::make_unique<TextGeneration>(path, all);
}

std::unique_ptr<TextGeneration> pipeline_of(std::shared_ptr<const Model<AnyKernel>> model, std::string chat_template,
                                            const EngineOptions& options) {
  return std::make_unique<TextGeneration>(std::move(model), tiny_tokenizer(), std::move(chat_template), options);
}

bool step(Engine& engine, const Engine::Emit& emit, const LogitsObserver& observe) { return engine.step(emit, nullptr, observe); }

std::vector<float> finish_logits(Engine& engine, SequenceId id) {
  std::vector<float> all;
  const auto keep = [&](SequenceId of, Position, std::span<const float> logits) {
    if (of == id) all.insert(all.end(), logits.begin(), logits.end());
  };
  while (engine.step([](const Emission&) {}, nullptr, keep)) {
  }
  return all;
}

std::vector<float> prompt_logits(Engine& engine, std::span<const Token> tokens) {
  const SequenceId id = engine.start(tokens, SamplerChain(), only_logits());
  std::vector<float> all = finish_logits(engine, id);
  engine.remove(id);
  return all;
}

Generated finish_sequence(Engine& engine, SequenceId id) { return finish_sequence<Engine>(engine, id); }

}  // namespace tulle::testing

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
  CHECK(engine->sequences() == 4);
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
    CHECK(test::error_of([&] { (void)engine->start(std::vector<Token>(21, 5), SamplerChain(), {}); }) == ErrorCode::capacity);
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

TEST_CASE("names and sizes that make no engine are errors", "[generate][engine]") {
  const std::vector<std::function<void(EngineOptions&)>> changes{
      [](EngineOptions& o) { o.cache = "ring"; },
      [](EngineOptions& o) { o.cache = ""; },
      [](EngineOptions& o) { o.cache_dtype = "f8"; },
      [](EngineOptions& o) { o.prompt_sequence_length = 0; },
      [](EngineOptions& o) { o.sequences = 0; },
      [](EngineOptions& o) { o.sequences = std::size_t{1} << 60; },
      [](EngineOptions& o) { o.sequence_length = std::size_t{1} << 40; },
      [](EngineOptions& o) { o.threads = 1'000'000; },
      [](EngineOptions& o) { o.cache = "sliding", o.window = std::size_t{1} << 40; },
      [](EngineOptions& o) { o.cache = "sliding", o.sinks = std::size_t{1} << 40; },
      [](EngineOptions& o) { o.cache = "paged", o.sequences = std::size_t{1} << 60; },
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
