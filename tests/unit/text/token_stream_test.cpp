// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/token_stream.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;

namespace {

/// Token n is the byte n; 256 is special; everything else is outside.
class ByteTokenizer final : public Tokenizer {
 public:
  std::vector<Token> encode(std::string_view text, const EncodeOptions&) const override {
    std::vector<Token> tokens;
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  std::string piece(Token token) const override {
    if (token == 256) return "<end>";
    return token < 0 || token > 256 ? std::string() : std::string(1, static_cast<char>(token));
  }
  void append(Token token, DecodeState& state, std::string& bytes) const override {
    ++state.tokens;
    bytes += piece(token);
  }
  std::optional<Token> find(std::string_view) const override { return std::nullopt; }
  bool is_special(Token token) const override { return token == 256; }
  std::size_t vocabulary_size() const override { return 257; }
  std::optional<Token> bos_token() const override { return std::nullopt; }
  std::optional<Token> eos_token() const override { return 256; }
};

}  // namespace

TEST_CASE("a code point comes out when its last byte has come", "[text][token_stream]") {
  const ByteTokenizer tokenizer;
  TokenStream stream(tokenizer);
  CHECK(stream.push(0xF0) == "");
  CHECK(stream.push(0x9F) == "");
  CHECK(stream.push(0x98) == "");
  CHECK(stream.push(0x80) == "\xF0\x9F\x98\x80");
  CHECK(stream.push('a') == "a");
  CHECK(stream.finish() == "");
}

TEST_CASE("what cannot become a code point is replaced at once", "[text][token_stream]") {
  const ByteTokenizer tokenizer;
  TokenStream stream(tokenizer);
  CHECK(stream.push(0xE2) == "");
  CHECK(stream.push('a') == "\uFFFDa");
  CHECK(stream.push(0x80) == "\uFFFD");
  CHECK(stream.push(0xE2) == "");
  CHECK(stream.push(0x82) == "");
  CHECK(stream.finish() == "\uFFFD");
  CHECK(stream.finish() == "");
}

TEST_CASE("the parts are the whole for any bytes", "[text][token_stream]") {
  const ByteTokenizer tokenizer;
  std::uint32_t random = 7;
  for (int round = 0; round < 500; ++round) {
    std::vector<Token> tokens;
    for (int length = 0; length < 30; ++length) {
      random = random * 1664525u + 1013904223u;
      constexpr Token likely[] = {0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 'a',
                                  0xC3, 256,  0xED, 0xA0, 999,  -1,   0xFF, 0xF4};
      tokens.push_back(likely[random >> 28]);
    }
    for (const bool skip : {false, true}) {
      TokenStream stream(tokenizer, skip);
      std::string text;
      for (const Token token : tokens) {
        const std::string part = stream.push(token);
        REQUIRE(is_valid_utf8(part));
        text += part;
      }
      text += stream.finish();
      REQUIRE(text == tokenizer.decode(tokens, skip));
    }
  }
}

TEST_CASE("special tokens are skipped on request", "[text][token_stream]") {
  const ByteTokenizer tokenizer;
  TokenStream all(tokenizer), skipping(tokenizer, true);
  CHECK(all.push(256) == "<end>");
  CHECK(skipping.push(256) == "");
}
