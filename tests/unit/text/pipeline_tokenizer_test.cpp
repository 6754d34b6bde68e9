// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/pipeline_tokenizer.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <vector>

#include <tulle/text/tokenizer_json.hpp>

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;

/// Bytes a and b, their pair, a special token and one that is found in normalized text.
std::unique_ptr<Tokenizer> small() {
  return tokenizer_from_json(parse_json(R"({"added_tokens": [
      {"id": 3, "content": "<s>", "special": true, "normalized": false},
      {"id": 4, "content": "bb", "special": false, "normalized": true}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"}, "post_processor": null,
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})",
                                        "small"),
                             Json(), "small");
}

}  // namespace

TEST_CASE("added tokens are found first, the gaps between them are merged", "[text][pipeline_tokenizer]") {
  const auto tokenizer = small();
  CHECK(tokenizer->encode("ab") == Tokens{2});
  CHECK(tokenizer->encode("aab<s>bba") == Tokens{0, 2, 3, 4, 0});
  CHECK(tokenizer->encode("abb") == Tokens{0, 4});  // the added token wins over the merge that overlaps it
  CHECK(tokenizer->encode("").empty());
}

TEST_CASE("special tokens in the text can be left as text", "[text][pipeline_tokenizer]") {
  const auto tokenizer = small();
  CHECK(tokenizer->encode("<s>", {.parse_special_tokens = true}) == Tokens{3});
  const Tokens plain = tokenizer->encode("a<s>a", {.parse_special_tokens = false});
  CHECK(std::find(plain.begin(), plain.end(), 3) == plain.end());
}

TEST_CASE("a normalized added token is decoded in the form in which it is found", "[text][pipeline_tokenizer]") {
  const auto tokenizer =
      tokenizer_from_json(parse_json(R"({"added_tokens": [{"id": 4, "content": "<foo>", "normalized": true}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
                   {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "vocab": {"\u2581": 0, "a": 1, "\u2581a": 2}, "merges": ["\u2581 a"]}})",
                                     "test"),
                          Json(), "test");
  const Tokens ids = tokenizer->encode("a <foo> a");
  CHECK(ids == Tokens{2, 4, 2});
  CHECK(tokenizer->decode(ids) == "a <foo> a");  // as tokenizers 0.23.3
  CHECK(tokenizer->find("<foo>") == 4);
}
