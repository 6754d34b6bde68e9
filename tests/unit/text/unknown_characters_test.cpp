// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/unknown_characters.hpp>

#include <catch2/catch_all.hpp>
#include <string_view>
#include <vector>

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;

Tokens tokens_of(const UnknownCharacters& unknown, const std::vector<std::string_view>& characters) {
  Tokens tokens;
  bool is_after_unknown = false;
  for (const std::string_view character : characters) {
    unknown.write(character, is_after_unknown, [&tokens](Token token) { tokens.push_back(token); });
  }
  return tokens;
}

}  // namespace

TEST_CASE("an unknown character becomes its bytes, an unknown token or nothing", "[text][unknown_characters]") {
  const Vocabulary vocabulary({{"<unk>", 0}, {"<0xC3>", 1}, {"<0xA9>", 2}}, "test");
  const std::vector<std::string_view> characters = {"x", "y", "\u00E9", "z"};
  CHECK(tokens_of({vocabulary, {}}, characters) == Tokens{});
  CHECK(tokens_of({vocabulary, {.unknown = 0}}, characters) == Tokens{0, 0, 0, 0});
  CHECK(tokens_of({vocabulary, {.fuse_unknown = true, .unknown = 0}}, characters) == Tokens{0});
  CHECK(tokens_of({vocabulary, {.byte_fallback = true}}, characters) == Tokens{1, 2});
  CHECK(tokens_of({vocabulary, {.byte_fallback = true, .fuse_unknown = true, .unknown = 0}}, characters) ==
        Tokens{0, 1, 2, 0});
}
