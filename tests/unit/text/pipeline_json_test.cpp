// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/pipeline_json.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

using Parts = std::vector<std::string>;

Json json(const char* text) {
  return parse_json(text, "test");
}

Parts split(const char* description, std::string_view text) {
  Regex::Scratch scratch;
  Parts parts;
  detail::pre_tokenizer_from_json(json(description), "test").split(text, true, scratch, [&](std::string_view word) {
    parts.emplace_back(word);
  });
  return parts;
}

std::string decode(const char* description, const Parts& contents) {
  const TokenDecoder decoder = detail::token_decoder_from_json(json(description), "test");
  DecodeState state;
  std::string bytes;
  for (const std::string& content : contents) decoder.append(content, state, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("pre-tokenizers are those of tokenizers 0.23", "[text][pipeline_json]") {
  // Expected values by tokenizers 0.23.3.
  CHECK(split(R"({"type": "Digits", "individual_digits": true})", "a12\u00BD b") ==
        Parts{"a", "1", "2", "\u00BD", " b"});
  CHECK(split(R"({"type": "Digits", "individual_digits": false})", "a12\u00BD b") == Parts{"a", "12\u00BD", " b"});
  CHECK(split(R"({"type": "Punctuation"})", "a,b$ !?") == Parts{"a", ",", "b", "$", " ", "!", "?"});
  CHECK(split(R"({"type": "Whitespace"})", "Hello, you_2 !?") == Parts{"Hello", ",", "you_2", "!?"});
  CHECK(split(R"({"type": "WhitespaceSplit"})", " Hello, \u3000you") == Parts{"Hello,", "you"});
  CHECK(split(R"({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true})", "a  b") ==
        Parts{"\u2581a", "\u2581", "\u2581b"});
  CHECK(split(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})", "a b") == Parts{"a", "_b"});
  CHECK(split(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": false})", "a b") ==
        Parts{"_a_b"});
  CHECK(split(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true})", "a b1") ==
        Parts{"\u0120a", "\u0120b", "1"});
  CHECK(split(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})", "a b1") == Parts{"a\u0120b1"});
  CHECK(split(R"({"type": "Sequence", "pretokenizers": [
                  {"type": "Split", "pattern": {"String": "."}, "behavior": "MergedWithPrevious", "invert": false},
                  {"type": "Split", "pattern": {"Regex": "\\d+"}, "behavior": "Removed", "invert": false}]})",
              "a1b.c22") == Parts{"a", "b.", "c"});
  CHECK(split("null", "a b") == Parts{"a b"});
}

TEST_CASE("decoders are read, fused or not", "[text][pipeline_json]") {
  CHECK(decode(R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "_"}, "content": " "},
                   {"type": "ByteFallback"}, {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
               {"_a", "_b", "<0x21>"}) == "a b!");
  CHECK(decode(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})", {"_a", "_b"}) == " a b");
  CHECK(decode(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})", {"_a", "_b"}) == "a b");
  CHECK(decode(R"({"type": "ByteLevel"})", {"\u0120a"}) == " a");
  CHECK(decode("null", {"a", "b"}) == "a b");
}

TEST_CASE("a kind that is not supported is named", "[text][pipeline_json]") {
  using namespace detail;
  CHECK_THROWS_WITH(normalizer_from_json(json(R"({"type": "BertNormalizer"})"), "dir/tokenizer.json"),
                    ContainsSubstring("dir/tokenizer.json") && ContainsSubstring("\"BertNormalizer\""));
  CHECK_THROWS_WITH(normalizer_from_json(json(R"({"type": "Sequence", "normalizers": [{"type": "NFKD"}]})"), "test"),
                    ContainsSubstring("NFKD"));
  CHECK_THROWS_WITH(pre_tokenizer_from_json(json(R"({"type": "UnicodeScripts"})"), "test"),
                    ContainsSubstring("UnicodeScripts"));
  CHECK_THROWS_WITH(token_decoder_from_json(json(R"({"type": "WordPiece"})"), "test"), ContainsSubstring("WordPiece"));
  CHECK_THROWS_WITH(pre_tokenizer_from_json(
                        json(R"x({"type": "Split", "pattern": {"Regex": "(?<=a)"}, "behavior": "Isolated"})x"), "test"),
                    ContainsSubstring("regular expression"));
}

TEST_CASE("sections of the wrong form are errors", "[text][pipeline_json]") {
  using namespace detail;
  for (const char* text :
       {"3", "[]", "{}", R"({"type": 3})", R"({"type": "Sequence"})", R"({"type": "Sequence", "normalizers": 3})",
        R"({"type": "Replace"})", R"({"type": "Replace", "pattern": {}, "content": ""})",
        R"({"type": "Replace", "pattern": 3, "content": ""})", R"({"type": "Prepend"})"}) {
    INFO(text);
    CHECK_THROWS_AS(normalizer_from_json(json(text), "test"), Error);
  }
  for (const char* text :
       {R"({"type": "Split"})", R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Sideways"})",
        R"({"type": "Metaspace"})", R"({"type": "Metaspace", "replacement": ""})",
        R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "twice"})",
        R"({"type": "ByteLevel", "use_regex": 3})"}) {
    INFO(text);
    CHECK_THROWS_AS(pre_tokenizer_from_json(json(text), "test"), Error);
  }
  for (const char* text :
       {R"({"type": "Strip"})", R"({"type": "Strip", "content": "ab"})",
        R"({"type": "Strip", "content": " ", "start": "x"})",
        R"({"type": "Replace", "pattern": {"String": ""}, "content": "a"})",
        R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteLevel"}]})",
        R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "stop": 1}]})"}) {
    INFO(text);
    CHECK_THROWS_AS(token_decoder_from_json(json(text), "test"), Error);
  }
}
