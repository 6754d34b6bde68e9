// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/requests.hpp>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::small_engine;
using testing::tiny_engine;
using testing::tiny_tokenizer;

namespace {

std::vector<Token> prompt(std::size_t size = 10, std::uint32_t seed = 60) {
  return testing::random_tokens(size, 288, seed);
}

SequenceOptions at_most(std::size_t tokens) {
  SequenceOptions options;
  options.max_new_tokens = tokens;
  options.ignore_eos = true;
  return options;
}

std::vector<Completion> completions(std::size_t count) {
  std::vector<Completion> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(*tiny_tokenizer(), i, 10, GenerationOptions());
  return all;
}

std::vector<Token> read(Completion& completion) {
  while (completion.has_piece()) (void)completion.take();
  return completion.take_result().tokens;
}

std::unique_ptr<Engine> engine_of(std::size_t sequences) {
  EngineOptions options = small_engine();
  options.max_sequences = sequences;
  return tiny_engine("gguf/f32.gguf", options);
}

std::vector<Token> alone(const std::vector<Token>& prompt, std::size_t tokens) {
  const auto engine = engine_of(1);
  return testing::finish_sequence(*engine, engine->start(prompt, SamplerChain(), at_most(tokens))).tokens;
}

}  // namespace

TEST_CASE("every token goes to the completion of its sequence, whoever steps", "[generate][requests]") {
  const auto engine = engine_of(2);
  auto& requests = engine->requests();
  auto all = completions(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    requests.submit(prompt(10, 60 + i), SamplerChain(), at_most(5 + i), std::span(all).subspan(i, 1));
  }
  CHECK(requests.running());
  for (int i = 0; i < 2; ++i) engine->step();
  CHECK(all[0].sequence().has_value());
  CHECK(all[1].tokens() == 1);
  CHECK_FALSE(all[2].begun());  // waits for a sequence
  while (requests.running()) engine->step();
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(read(all[i]) == alone(prompt(10, 60 + i), 5 + i));
  CHECK(engine->sequences().free() == 2);
}

TEST_CASE("a completion that is ended takes no other with it", "[generate][requests]") {
  const auto engine = engine_of(2);
  auto& requests = engine->requests();
  auto all = completions(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    requests.submit(prompt(10, 60 + i), SamplerChain(), at_most(8), std::span(all).subspan(i, 1));
  }
  for (int i = 0; i < 3; ++i) engine->step();
  requests.end(all[0]);
  requests.end(all[2]);  // waits
  requests.end(all[2]);
  while (requests.running()) engine->step();
  const auto first = alone(prompt(), 8);
  CHECK(read(all[0]) == std::vector<Token>(first.begin(), first.begin() + 3));
  CHECK(read(all[1]) == alone(prompt(10, 61), 8));
  CHECK(read(all[2]).empty());
  CHECK(read(all[3]) == alone(prompt(10, 63), 8));
}

TEST_CASE("forks whose prefill is ended go on by themselves", "[generate][requests]") {
  const auto engine = engine_of(3);
  auto& requests = engine->requests();
  auto all = completions(3);
  requests.submit(prompt(40), SamplerChain(), at_most(6), all);
  engine->step();  // 16 of 40 tokens
  requests.end(all[0]);
  while (requests.running()) engine->step();
  CHECK(read(all[0]).empty());
  CHECK(read(all[1]) == alone(prompt(40), 6));
  CHECK(read(all[2]) == alone(prompt(40), 6));
  CHECK(engine->sequences().free() == 3);
}

TEST_CASE("a resumed sequence stays open with what was accepted", "[generate][requests]") {
  const auto engine = engine_of(2);
  auto& requests = engine->requests();
  auto all = completions(2);
  const SequenceId id = engine->sequences().open();
  requests.resume(id, prompt(), SamplerChain(), at_most(8), all[0]);
  for (int i = 0; i < 3; ++i) engine->step();
  requests.end(all[0]);
  CHECK(engine->sequences().history(id).size() == 13);
  requests.resume(id, {}, SamplerChain(), at_most(5), all[1]);
  while (requests.running()) engine->step();
  auto text = read(all[0]);
  const auto rest = read(all[1]);
  text.insert(text.end(), rest.begin(), rest.end());
  CHECK(text == alone(prompt(), 8));
  CHECK(test::error_of([&] { requests.resume(id, prompt(200), SamplerChain(), at_most(5), all[1]); }) ==
        ErrorCode::capacity);
  CHECK(engine->sequences().history(id).size() == 18);
}

TEST_CASE("a stop string leaves no drafted token behind it in a resumed sequence", "[generate][requests]") {
  const auto engine = engine_of(1);
  const auto wanted = alone(prompt(), 12);
  GenerationOptions options;
  options.stop = {tiny_tokenizer()->decode(std::vector<Token>{wanted[4]}, true)};
  REQUIRE_FALSE(options.stop.front().empty());
  Completion undrafted(*tiny_tokenizer(), 0, 10, options), drafted(*tiny_tokenizer(), 0, 10, options);
  for (Completion* completion : {&undrafted, &drafted}) {
    const SequenceId id = engine->sequences().open();
    engine->requests().resume(id, prompt(), SamplerChain(), at_most(12), *completion);
    while (engine->running()) {
      if (completion == &drafted) engine->sequences().draft(id, std::span(wanted).subspan(completion->tokens()));
      engine->step();
    }
    CHECK(engine->sequences().history(id).size() == 10 + completion->tokens());
    engine->sequences().release(id);
  }
  CHECK(read(undrafted) == read(drafted));
}

TEST_CASE("a prompt that can never run fails where it is read", "[generate][requests]") {
  const auto engine = engine_of(2);
  (void)engine->sequences().open();
  auto all = completions(2);
  engine->requests().submit(prompt(), SamplerChain(), at_most(5), all);
  engine->step();
  CHECK_FALSE(engine->running());
  for (Completion& completion : all) {
    CHECK(completion.has_piece());
    CHECK(test::error_of([&] { (void)completion.take(); }) == ErrorCode::capacity);
  }
  auto three = completions(3);
  CHECK(test::error_of([&] { engine->requests().submit(prompt(), SamplerChain(), at_most(5), three); }) ==
        ErrorCode::capacity);
  CHECK(test::error_of([&] { engine->requests().submit({}, SamplerChain(), at_most(5), all); }) ==
        ErrorCode::invalid_argument);
}
