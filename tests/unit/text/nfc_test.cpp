// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/nfc.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <string>

using namespace tulle;

namespace {

void add(std::uint32_t& hash, const std::string& text) {
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619u;
}

}  // namespace

TEST_CASE("every code point by itself normalizes as Unicode 16 says", "[text][nfc][long]") {
  // FNV-1a over NFC(c) in UTF-8 of all c, by Python's unicodedata2 16.0.0.
  std::uint32_t hash = 2166136261u;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point < 0xD800 || code_point >= 0xE000) add(hash, nfc(to_utf8(code_point)));
  }
  CHECK(hash == 1962371257u);
}

TEST_CASE("every combining mark is ordered as Unicode 16 says", "[text][nfc]") {
  // The same over NFC("q" U+0334 c U+0345 c) for all c of a class other than 0.
  std::uint32_t hash = 2166136261u;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (detail::combining_class(code_point) == 0) continue;
    add(hash, nfc("q\u0334" + to_utf8(code_point) + "\u0345" + to_utf8(code_point)));
  }
  CHECK(hash == 1261958211u);
}

TEST_CASE("pairs compose, blocked ones do not", "[text][nfc]") {
  CHECK(nfc("e\u0301") == "\u00E9");
  CHECK(nfc("a\u0323\u0307") == "\u1EA1\u0307");
  CHECK(nfc("a\u0307\u0323") == "\u1EA1\u0307");
  CHECK(nfc("a\u0301\u0301") == "\u00E1\u0301");
  CHECK(nfc("\u0301e\u0301") == "\u0301\u00E9");
  CHECK(nfc("a\u034F\u0301") == "a\u034F\u0301");
  CHECK(nfc("\u1E9B\u0323") == "\u1E9B\u0323");
  CHECK(nfc("\u0915\u093C") == "\u0915\u093C");
}

TEST_CASE("Hangul composes and decomposes by arithmetic", "[text][nfc]") {
  CHECK(nfc("\u1100\u1161\u11A8") == "\uAC01");
  CHECK(nfc("\uAC00\u11A8") == "\uAC01");
  CHECK(nfc("\uAC01\u11A8") == "\uAC01\u11A8");
  CHECK(nfc("\u1112\u1175\u11C2") == "\uD7A3");
}

TEST_CASE("a long run of marks is normalized in less than quadratic time", "[text][nfc]") {
  std::string text = "a";
  for (int pair = 0; pair < 100000; ++pair) text += "\u0301\u0323";
  const std::string result = nfc(text);
  CHECK(result.size() == text.size());  // a + U+0323 became U+1EA1: 3 bytes for 3
  CHECK(result.starts_with("\u1EA1\u0323"));
  CHECK(result.ends_with("\u0301\u0301"));
}
