// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/token_decoder.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;

namespace {

std::string decode(const TokenDecoder& decoder, const std::vector<std::string>& contents) {
  DecodeState state;
  std::string bytes;
  for (const std::string& content : contents) decoder.append(content, state, bytes);
  return bytes;
}

const std::string space = "\u2581";

}  // namespace

TEST_CASE("byte-level contents become bytes, others stay", "[text][token_decoder]") {
  const TokenDecoder decoder({ByteLevelDecode{}}, "", {});
  CHECK(decode(decoder, {"\u0120h\u00C3", "\u00A9", "<|x y|>"}) == " h\u00E9<|x y|>");
  CHECK(decoder.piece("\u00C3") == "\xC3");
}

TEST_CASE("byte tokens become their byte", "[text][token_decoder]") {
  const TokenDecoder decoder({ByteFallbackDecode{}}, "", {});
  CHECK(decode(decoder, {"<0xC3>", "<0xa9>", "<0x0A>", "<0xZZ>", "<0x1>", "<0xC3>>"}) == "\u00E9\n<0xZZ><0x1><0xC3>>");
  CHECK(decoder.repair() == Repair::per_byte);
}

TEST_CASE("one leading space of the text is stripped, whichever token brings it", "[text][token_decoder]") {
  const TokenDecoder decoder({ReplaceDecode{space, " "}, ByteFallbackDecode{}}, "", StripDecode{' ', 1, 0});
  CHECK(decode(decoder, {space + "Hello", space + "you"}) == "Hello you");
  CHECK(decode(decoder, {space, space + "Hello"}) == " Hello");
  CHECK(decode(decoder, {"<s>", space + "Hello"}) == "<s> Hello");
  CHECK(decode(decoder, {"<0x20>", "a"}) == "a");
  CHECK(decode(decoder, {"a", space}) == "a ");
}

TEST_CASE("a prefix goes away from the first token, or until there is text", "[text][token_decoder]") {
  const std::vector<TokenDecoderStep> steps = {ReplaceDecode{space, " "}, ByteFallbackDecode{}};
  const TokenDecoder once(steps, "", {}, PrefixDecode{space, false}), often(steps, "", {}, PrefixDecode{space, true});
  CHECK(decode(once, {space, space + "a", space + "b"}) == " a b");
  CHECK(decode(often, {space, space + "a", space + "b"}) == "a b");
  for (const TokenDecoder& decoder : {once, often}) {
    CHECK(decode(decoder, {"<0x20>", space + "a"}) == "  a");
    CHECK(decode(decoder, {"a", space}) == "a ");
    CHECK(decoder.piece(space + "a") == " a");
  }
}

TEST_CASE("Metaspace drops the spaces of the first token", "[text][token_decoder]") {
  const TokenDecoder decoder({ReplaceDecode{space, " ", true}}, "", {});
  CHECK(decode(decoder, {space + space + "a" + space, space + "b"}) == "a b");
  CHECK(decode(decoder, {space, space + "b"}) == " b");
  CHECK(decoder.piece(space + "a") == " a");
}

TEST_CASE("tokens are stripped and separated", "[text][token_decoder]") {
  const TokenDecoder decoder({StripDecode{'_', 1, 2}}, " ", {});
  CHECK(decode(decoder, {"__a___", "_", "b"}) == "_a_  b");
}
