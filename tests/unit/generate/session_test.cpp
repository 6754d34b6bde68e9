// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/session.hpp>

#include <catch2/catch_all.hpp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <tulle/generate/text_stream.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using test::error_of;
using testing::small_engine;
using testing::tiny_engine;
using testing::tiny_tokenizer;

namespace {

const std::string name = "gguf/f32.gguf";

GenerationOptions at_most(std::size_t tokens) {
  GenerationOptions options;
  options.max_new_tokens = tokens;
  options.force_max_tokens = true;
  return options;
}

std::vector<Token> copy_of(std::span<const Token> tokens) {
  return {tokens.begin(), tokens.end()};
}

/// What the whole text gives in a session of its own.
std::vector<Token> from_scratch(const std::vector<Token>& text, std::size_t tokens) {
  const auto engine = tiny_engine(name, small_engine());
  Session fresh(*engine, *tiny_tokenizer());
  return fresh.append(text, at_most(tokens)).tokens;
}

}  // namespace

TEST_CASE("every call of a session continues its history", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  CHECK(session.history().empty());
  std::vector<Token> text = tiny_tokenizer()->encode("the answer");
  const auto first = session.generate("the answer", at_most(6));
  CHECK(first.tokens == from_scratch(text, 6));
  text.insert(text.end(), first.tokens.begin(), first.tokens.end());
  CHECK(copy_of(session.history()) == text);
  const auto more = tiny_tokenizer()->encode(" and then");
  text.insert(text.end(), more.begin(), more.end());
  const auto second = session.generate(" and then", at_most(6));
  CHECK(second.tokens == from_scratch(text, 6));
  CHECK(second.prompt_tokens == more.size());
  // Nothing new: it goes on after its last token.
  text.insert(text.end(), second.tokens.begin(), second.tokens.end());
  CHECK(session.append({}, at_most(4)).tokens == from_scratch(text, 4));
}

TEST_CASE("logits of a session's call are those of its own prompt and tokens", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  GenerationOptions options = at_most(5);
  options.return_logits = true;
  for (const char* text : {"the answer", " and then", " more"}) {
    const auto result = session.generate(text, options);
    CHECK(result.logits.rows == result.prompt_tokens + 4);
  }
  CHECK(session.append({}, options).logits.rows == 5);
}

TEST_CASE("a session holds one slot until it ends", "[generate][session]") {
  EngineOptions one = small_engine();
  one.max_sequences = 1;
  const auto engine = tiny_engine(name, one);
  {
    Session session(*engine, *tiny_tokenizer());
    (void)session.generate("a", at_most(2));
    Session other(*engine, *tiny_tokenizer());
    CHECK(error_of([&] { (void)other.generate("b", at_most(2)); }) == ErrorCode::capacity);
    Session moved(std::move(session));
    CHECK(moved.history().size() == 3);
    CHECK(session.history().empty());
    CHECK(error_of([&] { (void)other.generate("b", at_most(2)); }) == ErrorCode::capacity);
    other = std::move(moved);
    CHECK(other.history().size() == 3);
  }
  Session session(*engine, *tiny_tokenizer());
  CHECK(session.generate("b", at_most(2)).tokens.size() == 2);
  session.clear();
  CHECK(session.history().empty());
  CHECK(session.generate("b", at_most(2)).tokens.size() == 2);
}

TEST_CASE("a text that was rendered anew keeps the part that is the same", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  auto text = testing::random_tokens(40, 288, 80);
  const auto first = session.continue_from(text, at_most(5));
  CHECK(first.tokens == from_scratch(text, 5));
  text.insert(text.end(), first.tokens.begin(), first.tokens.end());
  const auto turn = testing::random_tokens(10, 288, 81);
  text.insert(text.end(), turn.begin(), turn.end());
  const auto second = session.continue_from(text, at_most(5));
  CHECK(second.tokens == from_scratch(text, 5));
  CHECK(second.prompt_tokens == 10);

  text[30] = (text[30] + 1) % 288;  // an earlier message was edited
  const auto third = session.continue_from(text, at_most(5));
  CHECK(third.tokens == from_scratch(text, 5));
  CHECK(third.prompt_tokens == text.size() - 30);

  const std::vector<Token> shorter(text.begin(), text.begin() + 20);
  CHECK(session.continue_from(shorter, at_most(5)).tokens == from_scratch(shorter, 5));
  const auto other = testing::random_tokens(12, 288, 82);
  CHECK(session.continue_from(other, at_most(5)).tokens == from_scratch(other, 5));
  CHECK(error_of([&] { (void)session.continue_from({}, at_most(5)); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a text that was changed before the window is run anew", "[generate][session]") {
  EngineOptions window = small_engine();
  window.cache = "sliding";
  window.window = 32;
  const auto engine = tiny_engine(name, window);
  Session session(*engine, *tiny_tokenizer());
  auto text = testing::random_tokens(120, 288, 83);
  (void)session.continue_from(text, at_most(3));
  text[50] = (text[50] + 1) % 288;
  const auto found = session.continue_from(text, at_most(3)).tokens;
  Session fresh(*engine, *tiny_tokenizer());
  CHECK(found == fresh.append(text, at_most(3)).tokens);
}

TEST_CASE("a truncated session goes on from there", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  const auto text = testing::random_tokens(20, 288, 84);
  const auto all = session.append(text, at_most(8)).tokens;
  session.truncate(23);
  CHECK(session.history().size() == 23);
  CHECK(session.append({}, at_most(5)).tokens == std::vector<Token>(all.begin() + 3, all.end()));
  session.truncate(0);
  CHECK(session.history().empty());
  session.truncate(5);
  CHECK(session.append(text, at_most(8)).tokens == all);
}

TEST_CASE("a saved session goes on elsewhere", "[generate][session]") {
  for (const std::string cache : {"contiguous", "paged", "sliding"}) {
    EngineOptions layout = small_engine();
    layout.cache = cache;
    layout.window = 32;
    const auto engine = tiny_engine(name, layout), other = tiny_engine(name, layout);
    Session session(*engine, *tiny_tokenizer());
    (void)session.append(testing::random_tokens(70, 288, 85), at_most(8));
    const auto bytes = session.save();
    const auto wanted = session.append({5, 6, 7}, at_most(8)).tokens;
    Session restored(*other, *tiny_tokenizer());
    restored.restore(bytes);
    CHECK(restored.history().size() == 78);
    CHECK(restored.append({5, 6, 7}, at_most(8)).tokens == wanted);
    restored.restore(bytes);  // replaces what was there
    CHECK(restored.append({5, 6, 7}, at_most(8)).tokens == wanted);
  }
  const auto engine = tiny_engine(name, small_engine());
  Session empty(*engine, *tiny_tokenizer()), also(*engine, *tiny_tokenizer());
  also.restore(empty.save());
  CHECK(also.history().empty());
}

TEST_CASE("saved bytes that are cut off or changed are malformed and leave the session empty", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  (void)session.append(testing::random_tokens(10, 288, 86), at_most(3));
  const auto bytes = session.save();
  const std::span<const std::byte> all(bytes);
  std::vector<std::size_t> sizes{0, 7, 8, 9, 20, 60, 61, 70, bytes.size() - 1};
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    CHECK(error_of([&] { session.restore(all.first(size)); }) == ErrorCode::malformed);
    CHECK(session.history().empty());
  }
  auto huge = bytes;
  std::memset(huge.data(), 0xFF, 8);
  CHECK(error_of([&] { session.restore(huge); }) == ErrorCode::malformed);
  auto token = bytes;
  std::memset(token.data() + 8, 0x7F, 4);
  CHECK(error_of([&] { session.restore(token); }) == ErrorCode::malformed);
  EngineOptions half = small_engine();
  half.cache_dtype = "f16";
  const auto other = tiny_engine(name, half);
  Session elsewhere(*other, *tiny_tokenizer());
  CHECK(error_of([&] { elsewhere.restore(bytes); }) == ErrorCode::malformed);
  CHECK(elsewhere.generate("the", at_most(3)).tokens.size() == 3);
}

TEST_CASE("a session that streams gives what it gives at once", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  std::vector<Token> tokens;
  {
    TextStream stream = session.start(session.encode("the answer"), at_most(6));
    while (const auto piece = stream.next()) tokens.push_back(piece->token);
  }
  CHECK(tokens == from_scratch(tiny_tokenizer()->encode("the answer"), 6));
  // Left early: what was generated so far is the history.
  const std::size_t length = session.history().size();
  {
    CHECK(session.start({5, 6}, at_most(6)).next());
  }
  CHECK(session.history().size() == length + 3);
  CHECK(error_of([&] { (void)session.start({5, 300}, at_most(3)); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a call that fails leaves the session as it was", "[generate][session]") {
  const auto engine = tiny_engine(name, small_engine());
  Session session(*engine, *tiny_tokenizer());
  CHECK(error_of([&] { (void)session.append({}, at_most(3)); }) == ErrorCode::invalid_argument);
  CHECK(error_of([&] { (void)session.append(std::vector<Token>(200, 5), at_most(3)); }) == ErrorCode::capacity);
  CHECK(session.history().empty());
  CHECK(error_of([&] { (void)session.append({5, -1}, at_most(3)); }) == ErrorCode::invalid_argument);
  CHECK(session.history().empty());
  GenerationOptions wrong = at_most(3);
  wrong.stop = {""};
  CHECK(error_of([&] { (void)session.append({5}, wrong); }) == ErrorCode::invalid_argument);
  CHECK(session.history().empty());
  (void)session.append({5, 6}, at_most(3));
  CHECK(error_of([&] { (void)session.append(std::vector<Token>(200, 5), at_most(3)); }) == ErrorCode::capacity);
  CHECK(session.history().size() == 5);
  GenerationOptions two = at_most(3);
  two.num_return_sequences = 2;
  CHECK(error_of([&] { (void)session.append({5}, two); }) == ErrorCode::invalid_argument);
  CHECK(session.history().size() == 5);
}
