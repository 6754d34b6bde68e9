// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/text_stream.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_all.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/generate/session.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/generate/golden_model.hpp"
#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using test::error_of;
using testing::small_engine;
using testing::tiny_engine;
using testing::tiny_tokenizer;

namespace {

const std::string name = "gguf/f32.gguf";

std::vector<Token> prompt(std::size_t size = 10, std::uint32_t seed = 60) {
  return testing::random_tokens(size, 288, seed);
}

GenerationOptions at_most(std::size_t tokens) {
  GenerationOptions options;
  options.max_new_tokens = tokens;
  options.force_max_tokens = true;
  return options;
}

GenerationOptions sampled(std::size_t tokens) {
  GenerationOptions options = at_most(tokens);
  options.sampling.do_sample = true;
  options.sampling.temperature = 1.5f;
  options.seed = 3;
  return options;
}

struct Outcome {
  std::vector<GeneratedText> results;
  std::vector<TextPiece> pieces;
  Timings timings;
};

Outcome run(Engine& engine, const std::vector<std::vector<Token>>& prompts, const GenerationOptions& options) {
  TextStream going(engine, *tiny_tokenizer(), prompts, options);
  Outcome outcome;
  while (auto piece = going.next()) outcome.pieces.push_back(std::move(*piece));
  outcome.results = going.results();
  outcome.timings = going.timings();
  return outcome;
}

std::string text_of(const Outcome& outcome, std::size_t generation) {
  std::string text;
  for (const TextPiece& piece : outcome.pieces) {
    if (piece.generation == generation) text += piece.text;
  }
  return text;
}

/// Every slot of the engine can be taken.
void check_all_free(Engine& engine) {
  std::vector<SequenceId> taken;
  for (std::size_t i = 0; i < engine.sequences().size(); ++i)
    taken.push_back(engine.start(std::vector<Token>{1}, SamplerChain(), {}));
  for (const SequenceId id : taken) engine.sequences().release(id);
}

}  // namespace

TEST_CASE("passes over long prompts say how much of them has been read", "[generate][text_stream]") {
  auto engine = tiny_engine(name, small_engine());
  std::vector<double> fractions;
  GenerationOptions options = at_most(4);
  options.num_return_sequences = 2;
  options.progress = [&](std::string_view what, double fraction) {
    CHECK(what == "reading the prompt");
    fractions.push_back(fraction);
  };
  const std::vector<std::vector<Token>> prompts{prompt(40), prompt(10)};
  const Outcome outcome = run(*engine, prompts, options);
  REQUIRE(fractions.size() >= 3);  // 50 tokens, at most 16 in a pass
  CHECK(std::is_sorted(fractions.begin(), fractions.end()));
  CHECK(std::count(fractions.begin(), fractions.end(), 1.0) == 1);
  CHECK(fractions.back() == 1);
  CHECK(fractions.front() == Catch::Approx(16.0 / 50));

  TextStream stream(*engine, *tiny_tokenizer(), prompts, at_most(4));
  CHECK(stream.prompt_fraction() == 0);
  while (stream.next()) {
  }
  CHECK(stream.prompt_fraction() == 1);
}

TEST_CASE("the pieces of a generation concatenate to its text, which is that of its tokens",
          "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  const auto outcome = run(*engine, {prompt(), prompt(20, 61)}, sampled(40));
  REQUIRE(outcome.results.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const GeneratedText& result = outcome.results[i];
    CHECK(result.tokens.size() == 40);
    CHECK(result.finish_reason == FinishReason::length);
    CHECK(text_of(outcome, i) == result.text);
    CHECK(result.text == tiny_tokenizer()->decode(result.tokens, true));
    CHECK(result.log_probabilities.empty());
    CHECK(result.logits.values.empty());
  }
  CHECK(outcome.results[0].prompt_tokens == 10);
  CHECK(outcome.results[1].prompt_tokens == 20);
  CHECK(outcome.timings.prompt_tokens == 30);
  CHECK(outcome.timings.generated_tokens == 80);
  CHECK(outcome.timings.prefill_seconds > 0);
  CHECK(outcome.timings.decode_seconds > 0);
}

TEST_CASE("several prompts give what each gives alone, also when they wait for a slot", "[generate][text_stream]") {
  std::vector<std::vector<Token>> prompts;
  for (std::uint32_t i = 0; i < 7; ++i) prompts.push_back(prompt(3 + 5 * i, 70 + i));
  EngineOptions small = small_engine();
  small.max_sequences = 3;
  const auto engine = tiny_engine(name, small);
  const auto together = run(*engine, prompts, at_most(12));
  REQUIRE(together.results.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    const auto alone = run(*engine, {prompts[i]}, at_most(12));
    CHECK(together.results[i].tokens == alone.results[0].tokens);
    CHECK(together.results[i].text == alone.results[0].text);
  }
  check_all_free(*engine);
}

TEST_CASE("several continuations share one prefill and are those of their streams", "[generate][text_stream]") {
  for (const std::string cache : {"contiguous", "paged", "sliding"}) {
    EngineOptions layout = small_engine();
    layout.cache = cache;
    const auto engine = tiny_engine(name, layout);
    GenerationOptions options = sampled(15);
    options.num_return_sequences = 3;
    const auto forked = run(*engine, {prompt(30), prompt(7, 61)}, options);
    REQUIRE(forked.results.size() == 6);
    CHECK(forked.timings.prompt_tokens == 37);
    for (std::size_t i = 0; i < 6; ++i) {
      SequenceOptions alone;
      alone.max_new_tokens = 15;
      alone.ignore_eos = true;
      alone.seed = 3;
      alone.rng_stream = i % 3;
      const SequenceId id = engine->start(i < 3 ? prompt(30) : prompt(7, 61), SamplerChain(options.sampling), alone);
      CHECK(testing::finish_sequence(*engine, id).tokens == forked.results[i].tokens);
      engine->sequences().release(id);
      CHECK(text_of(forked, i) == forked.results[i].text);
    }
    CHECK(forked.results[0].tokens != forked.results[1].tokens);
    check_all_free(*engine);
  }
}

TEST_CASE("returned logits are those of every position but the last token", "[generate][text_stream]") {
  for (const std::size_t copies : {1, 2}) {
    const auto engine = tiny_engine(name, small_engine());
    GenerationOptions options = sampled(9);
    options.return_logits = true;
    options.num_return_sequences = copies;
    const auto outcome = run(*engine, {prompt(20), prompt(5, 61)}, options);
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
      auto text = i < copies ? prompt(20) : prompt(5, 61);
      const GeneratedText& result = outcome.results[i];
      CHECK(result.logits.rows == text.size() + 9 - 1);
      CHECK(result.logits.columns == 288);
      text.insert(text.end(), result.tokens.begin(), result.tokens.end() - 1);
      const auto wanted = testing::prompt_logits(*engine, text);
      CHECK(testing::same_bits(result.logits.values, wanted));
    }
  }
}

TEST_CASE("an observer sees the logits that every token is chosen from", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  GenerationOptions options = sampled(9);
  options.return_logits = true;
  options.include_prompt_logits = false;
  std::vector<float> seen;
  options.observe_logits = [&](std::size_t generation, Position position, std::span<const float> logits) {
    CHECK(generation == 0);
    CHECK(position == 9 + seen.size() / 288);
    seen.insert(seen.end(), logits.begin(), logits.end());
  };
  const auto outcome = run(*engine, {prompt()}, options);
  const auto& kept = outcome.results.front().logits;
  CHECK(testing::same_bits(seen, kept.values));
}

TEST_CASE("without those of the prompt there is one row of logits a token", "[generate][text_stream]") {
  for (const std::size_t copies : {1, 2}) {
    const auto engine = tiny_engine(name, small_engine());
    GenerationOptions options = sampled(9);
    options.return_logits = true;
    options.num_return_sequences = copies;
    const auto all = run(*engine, {prompt(20)}, options);
    options.include_prompt_logits = false;
    const auto part = run(*engine, {prompt(20)}, options);
    for (std::size_t i = 0; i < copies; ++i) {
      const Matrix& logits = part.results[i].logits;
      REQUIRE(logits.rows == 9);
      CHECK(testing::same_bits(logits.values, {all.results[i].logits[19], 9 * 288}));
    }
  }
}

TEST_CASE("every copy of a prompt that is only read has its logits", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  GenerationOptions options = at_most(0);
  options.return_logits = true;
  options.num_return_sequences = 3;
  for (const auto& result : run(*engine, {prompt()}, options).results) {
    CHECK(result.tokens.empty());
    CHECK(result.logits.rows == result.prompt_tokens);
  }
}

TEST_CASE("log probabilities come with every token", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  GenerationOptions options = sampled(9);
  options.log_probabilities = true;
  options.return_logits = true;
  const auto outcome = run(*engine, {prompt()}, options);
  const GeneratedText& result = outcome.results[0];
  REQUIRE(result.log_probabilities.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    const std::span<const float> row(result.logits[9 + i], 288);
    CHECK(result.log_probabilities[i] == log_probability(row, result.tokens[i]));
    CHECK(outcome.pieces[i].log_probability == result.log_probabilities[i]);
  }
}

TEST_CASE("a generation that ends at an eos token says so and does not show it", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  const auto all = run(*engine, {prompt()}, at_most(12)).results[0].tokens;
  GenerationOptions options = at_most(12);
  options.force_max_tokens = false;
  options.sampling.eos = {all[3]};
  const std::size_t end = static_cast<std::size_t>(std::find(all.begin(), all.end(), all[3]) - all.begin()) + 1;
  const auto stopped = run(*engine, {prompt()}, options);
  CHECK(stopped.results[0].tokens.size() == end);
  CHECK(stopped.results[0].finish_reason == FinishReason::stop);
  CHECK(stopped.pieces.back().finish_reason == FinishReason::stop);
  options.force_max_tokens = true;
  CHECK(run(*engine, {prompt()}, options).results[0].tokens == all);
}

TEST_CASE("stop strings end the text before them, also across pieces", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  const std::string whole = run(*engine, {prompt()}, sampled(40)).results[0].text;
  REQUIRE(whole.size() > 20);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{7}, whole.size() - 3}) {
    // A stop string of several tokens' text, cut at whole code points.
    std::size_t begin = at;
    while ((static_cast<unsigned char>(whole[begin]) & 0xC0) == 0x80) ++begin;
    std::size_t end = std::min(begin + 5, whole.size());
    while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) ++end;
    GenerationOptions options = sampled(40);
    options.stop = {"never there", whole.substr(begin, end - begin)};
    const auto outcome = run(*engine, {prompt()}, options);
    const std::size_t first = whole.find(options.stop[1]);
    CHECK(outcome.results[0].text == whole.substr(0, first));
    CHECK(text_of(outcome, 0) == whole.substr(0, first));
    CHECK(outcome.results[0].finish_reason == FinishReason::stop);
  }
  check_all_free(*engine);
}

TEST_CASE("a callback that says false ends its generation and no other", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  GenerationOptions options = at_most(10);
  std::vector<std::size_t> seen(2);
  options.callback = [&](const TextPiece& piece) { return ++seen[piece.generation] != 4 || piece.generation != 1; };
  const auto outcome = run(*engine, {prompt(), prompt(4, 61)}, options);
  CHECK(seen == std::vector<std::size_t>{10, 4});
  CHECK(outcome.results[0].finish_reason == FinishReason::length);
  CHECK(outcome.results[1].finish_reason == FinishReason::callback);
  CHECK(outcome.results[1].tokens.size() == 4);
  check_all_free(*engine);
}

TEST_CASE("a flag ends everything, what waits included", "[generate][text_stream]") {
  EngineOptions small = small_engine();
  small.max_sequences = 2;
  const auto engine = tiny_engine(name, small);
  for (const std::size_t copies : {1, 2}) {
    std::atomic<bool> cancel = false;
    GenerationOptions options = at_most(20);
    options.num_return_sequences = copies;
    options.cancel = &cancel;
    options.callback = [&](const TextPiece& piece) {
      cancel = cancel || piece.token >= 0;
      return true;
    };
    const auto outcome = run(*engine, {prompt(), prompt(4, 61), prompt(4, 62)}, options);
    for (const GeneratedText& result : outcome.results) {
      CHECK(result.finish_reason == FinishReason::cancelled);
      CHECK(result.tokens.size() <= 1);
    }
    check_all_free(*engine);
  }
}

TEST_CASE("a callback that throws leaves the engine free", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  GenerationOptions options = at_most(10);
  options.callback = [](const TextPiece&) -> bool { throw std::runtime_error("enough"); };
  {
    TextStream going(*engine, *tiny_tokenizer(), {prompt(), prompt(4, 61)}, options);
    CHECK_THROWS_AS(going.next(), std::runtime_error);
  }
  CHECK_FALSE(engine->running());
  check_all_free(*engine);
}

TEST_CASE("a run that is left early, or stopped, frees its sequences", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  {
    TextStream going(*engine, *tiny_tokenizer(), {prompt(), prompt(4, 61)}, at_most(50));
    (void)going.next();
    (void)going.next();
    CHECK(engine->running());
  }
  CHECK_FALSE(engine->running());
  check_all_free(*engine);
  TextStream going(*engine, *tiny_tokenizer(), {prompt(), prompt(4, 61)}, at_most(50));
  (void)going.next();
  going.stop();
  while (going.next()) {
  }
  CHECK(going.results().size() == 2);
}

TEST_CASE("no new tokens are no error", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  for (const std::size_t copies : {1, 3}) {
    GenerationOptions options = at_most(0);
    options.num_return_sequences = copies;
    const auto outcome = run(*engine, {prompt()}, options);
    REQUIRE(outcome.results.size() == copies);
    for (const GeneratedText& result : outcome.results) {
      CHECK(result.tokens.empty());
      CHECK(result.text.empty());
      CHECK(result.finish_reason == FinishReason::length);
    }
  }
  CHECK(run(*engine, {}, at_most(3)).results.empty());
}

TEST_CASE("a full cache ends a generation with its reason", "[generate][text_stream]") {
  EngineOptions small = small_engine();
  small.sequence_length = 16;
  const auto engine = tiny_engine(name, small);
  for (const std::size_t copies : {1, 2}) {
    GenerationOptions options = at_most(100);
    options.num_return_sequences = copies;
    const auto outcome = run(*engine, {prompt(10)}, options);
    for (const GeneratedText& result : outcome.results) {
      CHECK(result.finish_reason == FinishReason::capacity);
      CHECK(result.tokens.size() == 7);
    }
  }
}

TEST_CASE("sessions keep their slots while prompts wait for the others", "[generate][text_stream]") {
  EngineOptions small = small_engine();
  small.max_sequences = 3;
  const auto engine = tiny_engine(name, small);
  const SequenceId kept = engine->start(prompt(5), SamplerChain(), testing::only_logits());
  (void)testing::finish_logits(*engine, kept);
  const auto outcome = run(*engine, {prompt(), prompt(4, 61), prompt(4, 62)}, at_most(5));
  REQUIRE(outcome.results.size() == 3);
  for (const GeneratedText& result : outcome.results) CHECK(result.tokens.size() == 5);
  GenerationOptions two = at_most(5);
  two.num_return_sequences = 2;
  const auto forked = run(*engine, {prompt(), prompt(4, 61)}, two);
  for (const GeneratedText& result : forked.results) CHECK(result.tokens.size() == 5);
  CHECK(engine->sequences().history(kept).size() == 5);
  two.num_return_sequences = 3;  // would have to wait for ever
  CHECK(error_of([&] { run(*engine, {prompt()}, two); }) == ErrorCode::capacity);
  CHECK(engine->sequences().history(kept).size() == 5);
}

TEST_CASE("options and prompts that make no sense are errors", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  const auto code_of = [&](const std::vector<Token>& tokens, const GenerationOptions& options) {
    return error_of([&] { run(*engine, {prompt(), tokens}, options); });
  };
  GenerationOptions options = at_most(3);
  CHECK(code_of({}, options) == ErrorCode::invalid_argument);
  CHECK(code_of(prompt(129), options) == ErrorCode::capacity);
  CHECK(code_of({5, 288}, options) == ErrorCode::invalid_argument);
  options.num_return_sequences = 0;
  CHECK(code_of(prompt(), options) == ErrorCode::invalid_argument);
  options.num_return_sequences = 5;
  CHECK(code_of(prompt(), options) == ErrorCode::capacity);
  options.num_return_sequences = 1;
  options.stop = {""};
  CHECK(code_of(prompt(), options) == ErrorCode::invalid_argument);
  options.stop = {};
  options.sampling.temperature = -1;
  CHECK(code_of(prompt(), options) == ErrorCode::invalid_argument);
  check_all_free(*engine);
}

TEST_CASE("interleaved streams, one cancelled in the middle, give what each gives alone", "[generate][text_stream]") {
  EngineOptions threaded = small_engine();
  threaded.cache_dtype = "f16";
  const auto engine = tiny_engine(name, threaded);
  GenerationOptions options = sampled(30);
  options.log_probabilities = true;
  options.return_logits = true;
  GenerationOptions twice = options;
  twice.num_return_sequences = 2;
  const auto one = run(*engine, {prompt(20)}, options).results, two = run(*engine, {prompt(7, 61)}, options).results,
             late = run(*engine, {prompt(9, 62)}, twice).results;
  const auto check_same = [](const GeneratedText& found, const GeneratedText& wanted) {
    CHECK(found.text == wanted.text);
    CHECK(found.tokens == wanted.tokens);
    CHECK(testing::same_bits(found.log_probabilities, wanted.log_probabilities));
    CHECK(testing::same_bits(found.logits.values, wanted.logits.values));
  };

  std::atomic<bool> cancel = false;
  GenerationOptions cancelled = options;
  cancelled.cancel = &cancel;
  TextStream a(*engine, *tiny_tokenizer(), {prompt(20)}, options);
  TextStream b(*engine, *tiny_tokenizer(), {prompt(7, 61)}, cancelled);
  for (int i = 0; i < 9; ++i) {
    CHECK(a.next());
    CHECK(b.next());
  }
  TextStream c(*engine, *tiny_tokenizer(), {prompt(9, 62)}, twice);
  cancel = true;
  while (c.next()) a.step();
  while (b.next()) {
  }
  while (a.next()) {
  }
  check_same(a.results().front(), one.front());
  const auto found = c.results();
  for (std::size_t i = 0; i < 2; ++i) check_same(found[i], late[i]);
  const GeneratedText part = b.results().front();
  CHECK(part.finish_reason == FinishReason::cancelled);
  CHECK(part.tokens == std::vector<Token>(two.front().tokens.begin(), two.front().tokens.begin() + 9));
  CHECK(two.front().text.starts_with(part.text));
  CHECK(a.timings().generated_tokens == 30);
  check_all_free(*engine);
}

TEST_CASE("a session goes on while a stream is read", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  const auto wanted = run(*engine, {prompt()}, sampled(20)).results.front();
  const auto talk = run(*engine, {prompt(5, 61)}, sampled(6)).results.front();
  Session session(*engine, *tiny_tokenizer());
  TextStream stream(*engine, *tiny_tokenizer(), {prompt()}, sampled(20));
  for (int i = 0; i < 5; ++i) (void)stream.next();
  CHECK(session.append(prompt(5, 61), sampled(6)).tokens == talk.tokens);
  while (stream.next()) {
  }
  CHECK(stream.results().front().tokens == wanted.tokens);
}

TEST_CASE("prompts of several streams wait for the same sequences", "[generate][text_stream]") {
  EngineOptions small = small_engine();
  small.max_sequences = 2;
  const auto engine = tiny_engine(name, small);
  const std::vector<std::vector<Token>> first{prompt(), prompt(4, 61), prompt(30, 62)},
      second{prompt(8, 63), prompt(5, 64)};
  const auto one = run(*engine, first, sampled(9)).results, two = run(*engine, second, at_most(4)).results;
  TextStream a(*engine, *tiny_tokenizer(), first, sampled(9)), b(*engine, *tiny_tokenizer(), second, at_most(4));
  while (b.next()) {
  }
  while (a.next()) {
  }
  const auto found = a.results(), others = b.results();
  for (std::size_t i = 0; i < 3; ++i) CHECK(found[i].tokens == one[i].tokens);
  for (std::size_t i = 0; i < 2; ++i) CHECK(others[i].tokens == two[i].tokens);
  check_all_free(*engine);
}

TEST_CASE("what a callback or observer throws reaches its own stream alone", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  const auto wanted = run(*engine, {prompt()}, sampled(12)).results.front();
  GenerationOptions faulty = at_most(12);
  faulty.observe_logits = [](std::size_t, Position position, std::span<const float>) {
    if (position == 6) throw std::runtime_error("enough");
  };
  GenerationOptions throws = at_most(12);
  throws.callback = [](const TextPiece&) -> bool { throw std::runtime_error("enough"); };
  TextStream a(*engine, *tiny_tokenizer(), {prompt()}, sampled(12));
  TextStream b(*engine, *tiny_tokenizer(), {prompt(4, 61)}, faulty), c(*engine, *tiny_tokenizer(), {prompt(5)}, throws);
  while (a.next()) {
  }
  CHECK(a.results().front().tokens == wanted.tokens);
  for (int i = 0; i < 3; ++i) CHECK(b.next());
  CHECK_THROWS_AS(b.next(), std::runtime_error);
  CHECK_FALSE(b.next());
  CHECK_THROWS_AS(c.next(), std::runtime_error);
}

TEST_CASE("a callback that comes late ends the text where it says so", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  GenerationOptions options = at_most(12);
  options.return_logits = true;
  const auto wanted = run(*engine, {prompt()}, options).results.front();
  std::size_t calls = 0;
  options.callback = [&](const TextPiece&) { return ++calls < 4; };
  Session session(*engine, *tiny_tokenizer());
  TextStream late = session.start(prompt(), options);
  (void)run(*engine, {prompt(4, 61)}, at_most(8));
  while (late.next()) {
  }
  CHECK(calls == 4);
  const auto found = late.results().front();
  CHECK(found.tokens == std::vector<Token>(wanted.tokens.begin(), wanted.tokens.begin() + 4));
  CHECK(found.finish_reason == FinishReason::callback);
  CHECK(found.logits.rows == 13);
  CHECK(session.history().size() == 14);
}

TEST_CASE("a session keeps what was read of a stream that is left early", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  for (const std::size_t tokens : {12u, 5u}) {  // while it runs, and where it has ended unread
    Session session(*engine, *tiny_tokenizer());
    {
      TextStream early = session.start(prompt(), at_most(tokens));
      (void)run(*engine, {prompt(4, 61)}, at_most(8));
      for (int i = 0; i < 3; ++i) CHECK(early.next());
    }
    CHECK(session.history().size() == 13);
    const auto rest = session.append({}, at_most(4)).tokens;
    const auto whole = run(*engine, {prompt()}, at_most(7)).results.front().tokens;
    CHECK(rest == std::vector<Token>(whole.begin() + 3, whole.end()));
  }
}

TEST_CASE("a callback ends a session's text that has ended unread", "[generate][text_stream]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  std::size_t calls = 0;
  GenerationOptions options = at_most(5);
  options.callback = [&](const TextPiece&) { return ++calls < 2; };
  TextStream late = session.start(prompt(), options);
  (void)run(*engine, {prompt(4, 61)}, at_most(8));
  while (late.next()) {
  }
  CHECK(session.history().size() == 12);
  session.clear();  // the stream holds on to nothing
}
