// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/token_sequences.hpp>

#include <catch2/catch_all.hpp>
#include <numeric>
#include <string>
#include <vector>

#include <tulle/format/tokenizer_files.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using test::TemporaryFolder;
using Tokens = std::vector<Token>;

namespace {

/// A tokenizer that puts <s> before a text, and a chat template.
struct Fixture {
  std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(TULLE_GOLDEN "/tokenizers/llama2-style");
  TextEncoder encoder{*tokenizer, "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"};

  Tokens plain(std::string_view text) const { return tokenizer->encode(text); }
  Tokens with_special(std::string_view text) const { return tokenizer->encode(text, {.add_special_tokens = true}); }
};

}  // namespace

TEST_CASE("a stream is cut into whole sequences, in order", "[format][dataset]") {
  Tokens tokens(10);
  std::iota(tokens.begin(), tokens.end(), 0);
  CHECK(cut_tokens(tokens, {.max_length = 4}) == std::vector<Tokens>{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(cut_tokens(tokens, {.max_length = 5}).size() == 2);
  CHECK(cut_tokens(tokens, {.max_length = 3, .max_sequences = 2}) == std::vector<Tokens>{{0, 1, 2}, {3, 4, 5}});
  CHECK(cut_tokens(tokens, {.max_length = 3, .max_sequences = 9}).size() == 3);
  CHECK_THROWS_WITH(cut_tokens(tokens, {.max_length = 11}), Catch::Matchers::ContainsSubstring("only 10 tokens"));
  CHECK(test::error_of([&] { (void)cut_tokens(tokens, {.max_length = 0}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a text file is tokenized as one text without special tokens", "[format][dataset]") {
  const Fixture fixture;
  const TemporaryFolder folder;
  const std::string text = "Once upon a time.\n\nThe end of the story, and the beginning.\n";
  const std::string path = folder.write("a.txt", text);
  Tokens all = fixture.plain(text);
  const auto sequences = read_token_sequences(path, fixture.encoder, {.max_length = 6});
  REQUIRE(sequences.size() == all.size() / 6);
  Tokens joined;
  for (const Tokens& each : sequences) joined.insert(joined.end(), each.begin(), each.end());
  all.resize(joined.size());
  CHECK(joined == all);
  CHECK(test::error_of([&] { (void)read_token_sequences(path, fixture.encoder, {}, {.columns = {"text"}}); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("rows are tokenized with special tokens and cut off", "[format][dataset]") {
  const Fixture fixture;
  const TemporaryFolder folder;
  const std::string path =
      folder.write("a.jsonl", "{\"text\": \"Once upon a time\"}\n{\"text\": \"The end\"}\n{\"text\": \"x\"}\n");
  const auto sequences = read_token_sequences(path, fixture.encoder, {.max_length = 5, .max_sequences = 2});
  REQUIRE(sequences.size() == 2);
  Tokens first = fixture.with_special("Once upon a time");
  REQUIRE(first.size() > 5);
  first.resize(5);
  CHECK(sequences[0] == first);
  Tokens second = fixture.with_special("The end");
  second.resize(std::min<std::size_t>(second.size(), 5));
  CHECK(sequences[1] == second);
  CHECK(fixture.with_special("x") != fixture.plain("x"));
}

TEST_CASE("messages, and on request texts, go through the chat template", "[format][dataset]") {
  const Fixture fixture;
  const TemporaryFolder folder;
  const std::string chats = folder.write(
      "a.jsonl", R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]})");
  CHECK(read_token_sequences(chats, fixture.encoder, {.max_length = 100}) ==
        std::vector<Tokens>{fixture.plain("[user]Hi[assistant]Yes")});
  const std::string lines = folder.write("a.txt", "one\ntwo\n");
  CHECK(read_token_sequences(lines, fixture.encoder, {.max_length = 100, .chat = true}) ==
        std::vector<Tokens>{fixture.plain("[user]one"), fixture.plain("[user]two")});
  const TextEncoder without{*fixture.tokenizer};
  CHECK(test::error_of([&] { (void)read_token_sequences(chats, without, {.max_length = 100}); }) ==
        ErrorCode::unsupported);
}
