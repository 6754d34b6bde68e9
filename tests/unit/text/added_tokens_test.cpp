// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/added_tokens.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;

namespace {

AddedToken token(std::string content, Token id, bool special = false) {
  AddedToken made;
  made.content = std::move(content);
  made.id = id;
  made.special = special;
  return made;
}

/// "text" for text, "<id>text" for tokens.
std::vector<std::string> split(const std::vector<AddedToken>& tokens, std::string_view text,
                               bool parse_special = true) {
  std::vector<std::string> parts;
  AddedTokenMatcher(tokens).split(text, parse_special, [&](std::string_view part, const AddedToken* found) {
    std::string label;
    if (found != nullptr) label.append("<").append(std::to_string(found->id)).append(">");
    parts.push_back(label.append(part));
  });
  return parts;
}

using Parts = std::vector<std::string>;

}  // namespace

TEST_CASE("the leftmost and then the longest token is found", "[text][added_tokens]") {
  const std::vector<AddedToken> tokens = {token("ab", 1), token("abc", 2), token("bcd", 3), token("c", 4)};
  CHECK(split(tokens, "xabcdy") == Parts{"x", "<2>abc", "dy"});
  CHECK(split(tokens, "abbcd") == Parts{"<1>ab", "<3>bcd"});
  CHECK(split(tokens, "cc") == Parts{"<4>c", "<4>c"});
  CHECK(split(tokens, "") == Parts{});
  CHECK(split(tokens, "xyz") == Parts{"xyz"});
  CHECK(split({}, "xyz") == Parts{"xyz"});
  CHECK(split({token("", 1)}, "xyz") == Parts{"xyz"});
}

TEST_CASE("special tokens stay text when they are not parsed", "[text][added_tokens]") {
  const std::vector<AddedToken> tokens = {token("<s>", 1, true), token("<t>", 2, false)};
  CHECK(split(tokens, "a<s><t>", true) == Parts{"a", "<1><s>", "<2><t>"});
  CHECK(split(tokens, "a<s><t>", false) == Parts{"a<s>", "<2><t>"});
}

TEST_CASE("stripping tokens take white space with them", "[text][added_tokens]") {
  AddedToken left = token("<l>", 1), right = token("<r>", 2);
  left.lstrip = true;
  right.rstrip = true;
  CHECK(split({left, right}, "a \u3000<l> b") == Parts{"a", "<1> \u3000<l>", " b"});
  CHECK(split({left, right}, "a <r> \u3000\nb") == Parts{"a ", "<2><r> \u3000\n", "b"});
  CHECK(split({left, right}, "<r>  <l>") == Parts{"<2><r>  ", "<1><l>"});
}

TEST_CASE("a single word has no word character beside it", "[text][added_tokens]") {
  AddedToken word = token("the", 1);
  word.single_word = true;
  CHECK(split({word}, "the other, the\u00E9 \u00E9the the.") ==
        Parts{"<1>the", " other, the\u00E9 \u00E9the ", "<1>the", "."});
}

TEST_CASE("a quarter of a megabyte of near misses is quick", "[text][added_tokens]") {
  std::vector<AddedToken> tokens;
  for (int index = 2; index < 32; ++index)
    tokens.push_back(token(std::string(static_cast<std::size_t>(index), ' '), index));
  CHECK(split(tokens, std::string(1 << 18, ' ')).size() == (std::size_t{1} << 18) / 31 + 1);
  CHECK(split({token(std::string(40, 'a') + "b", 1)}, std::string(1 << 18, 'a')).size() == 1);
}
