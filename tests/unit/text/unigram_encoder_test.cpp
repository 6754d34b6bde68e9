// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/unigram_encoder.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <string>
#include <vector>

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;
using Pieces = std::vector<UnigramEncoder::Piece>;

Tokens encode(const Pieces& pieces, std::string_view text, const UnknownOptions& options = {.unknown = 0}) {
  const Vocabulary vocabulary({{"<unk>", 0}, {"<0xC3>", 90}, {"<0xA9>", 91}}, "test");
  UnigramEncoder::Scratch scratch;
  Tokens tokens;
  UnigramEncoder(pieces, {vocabulary, options}).encode(text, scratch, tokens);
  return tokens;
}

}  // namespace

TEST_CASE("the pieces of highest total score are taken", "[text][unigram_encoder]") {
  const Pieces pieces = {{"a", 1, -1}, {"b", 2, -2}, {"c", 3, -4}, {"ab", 4, -2.5}, {"bc", 5, -3}, {"abc", 6, -5}};
  CHECK(encode(pieces, "abc") == Tokens{1, 5});
  CHECK(encode(pieces, "ab") == Tokens{4});
  CHECK(encode(pieces, "abab") == Tokens{4, 4});
  CHECK(encode(pieces, "") == Tokens{});
  CHECK(encode({{"a", 1, -1}, {"aa", 2, -2}, {"aaa", 3, -3}}, "aaa") ==
        Tokens{3});  // of equals the longest first piece
}

TEST_CASE("an unknown character costs more than any piece", "[text][unigram_encoder]") {
  const Pieces pieces = {{"a", 1, -1}, {"\u00E9", 2, -9}, {"xa", 3, -20}};
  CHECK(encode(pieces, "a\u00E9a") == Tokens{1, 2, 1});
  CHECK(encode(pieces, "axya") == Tokens{1, 0, 0, 1});
  CHECK(encode(pieces, "xa") == Tokens{3});
  CHECK(encode(pieces, "xya", {.fuse_unknown = true, .unknown = 0}) == Tokens{0, 1});
  CHECK(encode({{"a", 1, -1}}, "a\u00E9a", {.byte_fallback = true}) == Tokens{1, 90, 91, 1});
  CHECK(encode({}, "ab") == Tokens{0, 0});
}

TEST_CASE("a user-defined piece comes before others", "[text][unigram_encoder]") {
  const Pieces pieces = {{"a", 1, -1}, {"b", 2, -1}, {"ab", 3, -0.5}, {"bc", 4, 0, true}, {"c", 5, -1}};
  CHECK(encode(pieces, "abc") == Tokens{1, 4});
}

TEST_CASE("a piece that ends inside a character leads nowhere", "[text][unigram_encoder]") {
  CHECK(encode({{"a\xC3", 1, -1}, {"a", 2, -1}, {"\xA9", 3, -1}}, "a\u00E9") == Tokens{2, 0});
  CHECK(encode({{"a", 2, -1}}, "a\xFF\xC3") == Tokens{2, 0, 0});
}

TEST_CASE("infinite scores do no harm", "[text][unigram_encoder]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(encode({{"a", 1, -infinity}, {"b", 2, infinity}}, "abab").size() == 4);
}
