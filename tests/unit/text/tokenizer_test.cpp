// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/tokenizer.hpp>

#include <catch2/catch_all.hpp>
#include <optional>
#include <string>
#include <vector>

using namespace tulle;

namespace {

/// Every byte is a token; 256 is special and reads "<end>".
class Bytes final : public Tokenizer {
 public:
  std::vector<Token> encode(std::string_view text, const EncodeOptions&) const override {
    std::vector<Token> tokens;
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  std::string piece(Token token) const override {
    if (token == 256) return "<end>";
    return token >= 0 && token < 256 ? std::string(1, static_cast<char>(token)) : std::string();
  }
  void append(Token token, DecodeState&, std::string& bytes) const override { bytes += piece(token); }
  std::optional<Token> find(std::string_view content) const override {
    return content == "<end>" ? std::optional<Token>(256) : std::nullopt;
  }
  bool is_special(Token token) const override { return token == 256; }
  std::size_t vocabulary_size() const override { return 257; }
  std::optional<Token> bos_token() const override { return std::nullopt; }
  std::optional<Token> eos_token() const override { return 256; }
};

}  // namespace

TEST_CASE("decode joins the pieces and repairs what is not UTF-8", "[text][tokenizer]") {
  const Bytes tokenizer;
  const std::string text = "h\xC3\xA9!";
  CHECK(tokenizer.decode(tokenizer.encode(text, {})) == text);
  CHECK(tokenizer.decode(std::vector<Token>{'a', 0xC3}) == "a\xEF\xBF\xBD");
  CHECK(tokenizer.decode(std::vector<Token>{'a', 999, -1, 'b'}) == "ab");
  CHECK(tokenizer.decode(std::vector<Token>{}).empty());
}

TEST_CASE("decode leaves special tokens out on request", "[text][tokenizer]") {
  const Bytes tokenizer;
  const std::vector<Token> tokens{'a', 256, 'b'};
  CHECK(tokenizer.decode(tokens) == "a<end>b");
  CHECK(tokenizer.decode(tokens, true) == "ab");
}
