// SPDX-License-Identifier: Apache-2.0
/// \file What the references make of tests/golden/tokenizers/corpus.bin, and a comparison of a tokenizer with it.
#pragma once

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/text/token_stream.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle::golden {

inline std::string read(const std::string& name) {
  std::ifstream file(TULLE_GOLDEN "/tokenizers/" + name, std::ios::binary);
  INFO(name);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline tulle::Json read_json(const std::string& name) {
  return tulle::parse_json(read(name), name);
}

inline std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t word = 0;
  REQUIRE(at + sizeof(word) <= bytes.size());
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

inline const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = [] {
    const std::string bytes = read("corpus.bin");
    std::vector<std::string> result;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::uint32_t size = word_at(bytes, at);
      result.push_back(bytes.substr(at + 4, size));
      at += 4 + size;
    }
    return result;
  }();
  return all;
}

/// FNV-1a over the ids as little-endian words.
inline std::uint32_t hash(const std::vector<tulle::Token>& tokens) {
  std::uint32_t value = 2166136261u;
  for (const tulle::Token token : tokens) {
    for (int shift = 0; shift < 32; shift += 8) {
      value = (value ^ (static_cast<std::uint32_t>(token) >> shift & 0xFF)) * 16777619u;
    }
  }
  return value;
}

inline std::string streamed(const tulle::Tokenizer& tokenizer, const std::vector<tulle::Token>& tokens, bool skip) {
  tulle::TokenStream stream(tokenizer, skip);
  std::string text;
  for (const tulle::Token token : tokens) {
    const std::string part = stream.push(token);
    if (!tulle::is_valid_utf8(part)) FAIL("a part of a code point was streamed");
    text += part;
  }
  return text + stream.finish();
}

/// Ids of every text, their decodings, and the same decodings streamed.
inline void compare(const tulle::Tokenizer& tokenizer, const std::string& name,
                    const tulle::EncodeOptions& options = {}) {
  const std::string hashes = read(name + "/hashes.bin");
  const tulle::Json facts = read_json(name + "/golden.json");
  const std::size_t count = hashes.size() / 4;
  REQUIRE(count >= 2000);
  REQUIRE(count == facts["texts"]);
  CHECK(tokenizer.vocabulary_size() == facts["vocabulary"]);

  std::vector<std::size_t> wrong, torn;
  std::size_t total = 0;
  std::vector<std::vector<tulle::Token>> tokens;
  for (std::size_t index = 0; index < count; ++index) {
    const std::vector<tulle::Token> ids = tokenizer.encode(texts()[index], options);
    total += ids.size();
    if (hash(ids) != word_at(hashes, index * 4)) wrong.push_back(index);
    if (streamed(tokenizer, ids, false) != tokenizer.decode(ids)) torn.push_back(index);
    if (streamed(tokenizer, ids, true) != tokenizer.decode(ids, true)) torn.push_back(index);
    if (index < facts["decoded_texts"].get<std::size_t>()) tokens.push_back(ids);
  }
  CHECK(wrong == std::vector<std::size_t>{});
  CHECK(torn == std::vector<std::size_t>{});
  CHECK(total == facts["ids"]);

  std::vector<std::string> plain(texts().begin(), texts().begin() + static_cast<std::ptrdiff_t>(tokens.size()));
  for (const auto& item : facts["decoded_differently"])
    plain[item["text"].get<std::size_t>()] = item["decoded"].get<std::string>();
  std::vector<std::string> bare = plain;
  for (const auto& item : facts["decoded_without_special_tokens"])
    bare[item["text"].get<std::size_t>()] = item["decoded"].get<std::string>();
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    INFO("text " << index);
    if (tokenizer.decode(tokens[index]) != plain[index]) CHECK(tokenizer.decode(tokens[index]) == plain[index]);
    if (tokenizer.decode(tokens[index], true) != bare[index])
      CHECK(tokenizer.decode(tokens[index], true) == bare[index]);
  }
  for (const auto& item : facts["decoded_part"]) {
    std::vector<tulle::Token> part = tokens[item["text"].get<std::size_t>()];
    part.resize(item["count"].get<std::size_t>());
    INFO("the first " << part.size() << " tokens of text " << item["text"]);
    std::string expected = item["decoded"].get<std::string>();
    if (tokenizer.repair() == tulle::Repair::per_byte &&
        facts["reference"].get<std::string>().starts_with("tokenizers")) {
      // `tokenizers` gives up a whole run of byte tokens, we only what is not UTF-8 in it.
      while (expected.ends_with(tulle::replacement_utf8))
        expected.resize(expected.size() - tulle::replacement_utf8.size());
      CHECK(tokenizer.decode(part).starts_with(expected));
      CHECK(tokenizer.decode(part).ends_with(tulle::replacement_utf8));
    } else {
      CHECK(tokenizer.decode(part) == expected);
    }
  }
}

}  // namespace tulle::golden
