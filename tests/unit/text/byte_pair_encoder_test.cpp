// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/byte_pair_encoder.hpp>

#include <catch2/catch_all.hpp>
#include <cstdio>
#include <string>
#include <vector>

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;
using Merges = std::vector<BytePairEncoder::Merge>;

Tokens encode(const Vocabulary& vocabulary, const BytePairEncoder& encoder, std::string_view word) {
  BytePairEncoder::Scratch scratch;
  Tokens tokens;
  encoder.encode(vocabulary, word, scratch, tokens);
  return tokens;
}

}  // namespace

TEST_CASE("pairs merge in order of rank, the leftmost first", "[text][byte_pair_encoder]") {
  const Vocabulary vocabulary({{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}, {"aa", 6}, {"aaa", 7}},
                              "test");
  const Merges merges = {{"b", "c", 0}, {"a", "b", 1}, {"ab", "c", 2}, {"a", "bc", 3}, {"a", "a", 4}, {"aa", "a", 5}};
  const BytePairEncoder encoder(vocabulary, merges, {}, "test");
  CHECK(encode(vocabulary, encoder, "abc") == Tokens{5});
  CHECK(encode(vocabulary, encoder, "ab") == Tokens{3});
  CHECK(encode(vocabulary, encoder, "bcbc") == Tokens{4, 4});
  CHECK(encode(vocabulary, encoder, "aaaa") == Tokens{6, 6});
  CHECK(encode(vocabulary, encoder, "aaa") == Tokens{7});
  CHECK(encode(vocabulary, encoder, "") == Tokens{});
}

TEST_CASE("a long word is cut only where no merge can reach across", "[text][byte_pair_encoder]") {
  const Vocabulary vocabulary({{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}, {"<unk>", 6}}, "test");
  BytePairOptions options;
  options.unknown = 6;
  const BytePairEncoder encoder(vocabulary, {{"b", "c", 0}, {"a", "bc", 1}, {"a", "b", 2}}, options, "test");
  std::string word;
  Tokens expected;
  for (int part = 0; part < 50; ++part) {
    word += "abcab?a";
    expected.insert(expected.end(), {5, 3, 6, 0});
  }
  CHECK(encode(vocabulary, encoder, word) == expected);
}

TEST_CASE("a whole word is taken when merges are ignored", "[text][byte_pair_encoder]") {
  const Vocabulary vocabulary({{"a", 0}, {"b", 1}, {"ab", 2}}, "test");
  BytePairOptions options;
  CHECK(encode(vocabulary, BytePairEncoder(vocabulary, {}, options, "test"), "ab") == Tokens{0, 1});
  options.ignore_merges = true;
  CHECK(encode(vocabulary, BytePairEncoder(vocabulary, {}, options, "test"), "ab") == Tokens{2});
}

TEST_CASE("unknown characters are dropped, kept apart or fused", "[text][byte_pair_encoder]") {
  const Vocabulary vocabulary({{"a", 0}, {"?", 1}}, "test");
  BytePairOptions options;
  CHECK(encode(vocabulary, BytePairEncoder(vocabulary, {}, options, "test"), "xay\u00E9") == Tokens{0});
  options.unknown = 1;
  CHECK(encode(vocabulary, BytePairEncoder(vocabulary, {}, options, "test"), "xay\u00E9") == Tokens{1, 0, 1, 1});
  options.fuse_unknown = true;
  CHECK(encode(vocabulary, BytePairEncoder(vocabulary, {}, options, "test"), "xay\u00E9") == Tokens{1, 0, 1});
}

TEST_CASE("byte fallback needs all bytes of the character", "[text][byte_pair_encoder]") {
  const Vocabulary vocabulary({{"a", 0}, {"<unk>", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}}, "test");
  BytePairOptions options;
  options.byte_fallback = true;
  options.unknown = 1;
  const BytePairEncoder encoder(vocabulary, {}, options, "test");
  CHECK(encode(vocabulary, encoder, "a\u00E9") == Tokens{0, 2, 3});
  CHECK(encode(vocabulary, encoder, "\u00E8") == Tokens{1});
}

TEST_CASE("a merge of unknown tokens is an error that names the token", "[text][byte_pair_encoder]") {
  const Vocabulary vocabulary({{"a", 0}, {"b", 1}}, "test");
  CHECK_THROWS_WITH(BytePairEncoder(vocabulary, Merges{{"a", "b", 0}}, {}, "dir/file"),
                    Catch::Matchers::ContainsSubstring("dir/file") && Catch::Matchers::ContainsSubstring("\"ab\""));
  CHECK_THROWS_AS(BytePairEncoder(vocabulary, Merges{{"a", "x", 0}}, {}, "test"), Error);
}

TEST_CASE("the result is that of merging by hand, one lowest pair after the other", "[text][byte_pair_encoder]") {
  // A vocabulary of all words of up to 4 letters of {a, b}, with ranks in a scrambled order.
  std::vector<std::pair<std::string, Token>> entries;
  std::vector<std::string> words = {"a", "b"};
  for (std::size_t index = 0; index < words.size() && words[index].size() < 4; ++index) {
    words.push_back(words[index] + "a");
    words.push_back(words[index] + "b");
  }
  for (std::size_t index = 0; index < words.size(); ++index)
    entries.emplace_back(words[index], static_cast<Token>(index));
  const Vocabulary vocabulary(entries, "test");
  Merges merges;
  for (const std::string& word : words) {
    for (std::size_t cut = 1; cut < word.size(); ++cut) merges.push_back({word.substr(0, cut), word.substr(cut), 0});
  }
  for (std::size_t index = 0; index < merges.size(); ++index)
    merges[index].rank = static_cast<std::uint32_t>(index * 37 % merges.size());
  const BytePairEncoder encoder(vocabulary, merges, {}, "test");

  std::uint32_t random = 1;
  for (int round = 0; round < 300; ++round) {
    std::string word;
    std::vector<std::string> parts;
    for (int length = 0; length < 1 + round % 40; ++length) {
      random = random * 1664525u + 1013904223u;
      parts.emplace_back(random >> 31 ? "a" : "b");
      word += parts.back();
    }
    while (true) {
      std::size_t best = parts.size();
      std::uint32_t best_rank = 0;
      for (std::size_t index = 0; index + 1 < parts.size(); ++index) {
        for (const auto& merge : merges) {
          if (merge.left != parts[index] || merge.right != parts[index + 1]) continue;
          if (best == parts.size() || merge.rank < best_rank) {
            best = index;
            best_rank = merge.rank;
          }
        }
      }
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    Tokens expected;
    for (const std::string& part : parts) expected.push_back(*vocabulary.find(part));
    INFO(word);
    REQUIRE(encode(vocabulary, encoder, word) == expected);
  }
}

TEST_CASE("a word of 262,144 characters takes n log n", "[text][byte_pair_encoder]") {
  std::vector<std::pair<std::string, Token>> entries;
  Merges merges;
  std::string run = "a";
  for (Token id = 0; id < 12; ++id, run += run) {
    entries.emplace_back(run, id);
    if (id > 0)
      merges.push_back({run.substr(run.size() / 2), run.substr(run.size() / 2), static_cast<std::uint32_t>(id)});
  }
  const Vocabulary vocabulary(entries, "test");
  const BytePairEncoder encoder(vocabulary, merges, {}, "test");
  CHECK(encode(vocabulary, encoder, std::string(1 << 18, 'a')) == Tokens(128, 11));
}
