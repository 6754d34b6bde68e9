// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/window_reader.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_all.hpp>
#include <unit/format/file_builder.hpp>
#include <unit/generate/tiny_pipeline.hpp>
#include <vector>

using namespace tulle;
using testing::small_engine;
using testing::tiny_engine;
using Tokens = std::vector<Token>;

namespace {

Tokens some_tokens(std::size_t count) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<Token>((i * 37 + 11) % 288));
  return tokens;
}

/// The logits of what is read, [tokens, vocabulary].
std::vector<float> read(WindowReader& reader, std::span<const Token> tokens) {
  std::vector<float> rows;
  std::size_t next = 0;
  reader.read(tokens, [&](std::size_t index, std::span<const float> logits) {
    CHECK(index == next++);
    rows.insert(rows.end(), logits.begin(), logits.end());
  });
  CHECK(next == tokens.size());
  return rows;
}

}  // namespace

TEST_CASE("logits are those of a prompt, read in pieces, after skipping and after truncating", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const Tokens tokens = some_tokens(50);
  const std::vector<float> expected = testing::prompt_logits(*engine, tokens);
  const std::size_t vocabulary = expected.size() / tokens.size();
  const auto from = [&](std::size_t row) { return std::span<const float>(expected).subspan(row * vocabulary); };
  WindowReader reader(*engine);
  CHECK(testing::same_bits(read(reader, tokens), expected));
  reader.truncate(0);
  reader.skip(std::span(tokens).first(20));
  reader.skip({});
  CHECK(reader.length() == 20);
  CHECK(testing::same_bits(read(reader, std::span(tokens).subspan(20)), from(20)));
  reader.truncate(33);
  reader.skip(std::span(tokens).subspan(33, 1));
  CHECK(testing::same_bits(read(reader, std::span(tokens).subspan(34)), from(34)));
}

TEST_CASE("a reader gives its sequence back", "[evaluate]") {
  EngineOptions options = small_engine();
  options.max_sequences = 1;
  const auto engine = tiny_engine("gguf/f32.gguf", options);
  for (int i = 0; i < 3; ++i) {
    WindowReader reader(*engine);
    reader.skip(some_tokens(5));
    CHECK(test::error_of([&] { const WindowReader second(*engine); }) == ErrorCode::capacity);
  }
  CHECK(engine->sequences().free() == 1);
}

TEST_CASE("tokens that do not fit, do not exist or are cancelled are errors", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  std::atomic<bool> cancel = false;
  {
    WindowReader reader(*engine, &cancel);
    CHECK(test::error_of([&] { reader.skip(some_tokens(129)); }) == ErrorCode::capacity);
    CHECK(test::error_of([&] { reader.skip(Tokens{288}); }) == ErrorCode::invalid_argument);
    reader.skip(some_tokens(128));
    CHECK(test::error_of([&] { reader.skip(some_tokens(1)); }) == ErrorCode::capacity);
  }
  cancel = true;
  WindowReader reader(*engine, &cancel);
  CHECK(test::error_of([&] { reader.skip(some_tokens(10)); }) == ErrorCode::cancelled);
}
