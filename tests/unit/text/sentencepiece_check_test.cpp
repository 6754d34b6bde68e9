// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/sentencepiece_check.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "golden_texts.hpp"

using namespace tulle;

namespace {

/// A character map of one rule: "a" becomes the string at `target`.
std::string map_of(std::uint32_t target, std::size_t units_count = 256) {
  std::vector<std::uint32_t> units(units_count, 0);
  // The root's children are at 0 ^ label; the leaf of "a" is at 'a' ^ 1.
  if (units.size() > 'a') units['a'] = 1u << 10 | 0x100u | 'a';
  if (units.size() > 'a') units['a' ^ 1] = 0x80000000u | target;
  const auto bytes = static_cast<std::uint32_t>(units.size() * 4);
  std::string map(reinterpret_cast<const char*>(&bytes), 4);
  map.append(reinterpret_cast<const char*>(units.data()), bytes);
  return map + std::string("xy\0z\0", 5);
}

std::string field(char number, const std::string& bytes) {
  std::string message(1, static_cast<char>(number << 3 | 2));
  for (std::size_t length = bytes.size();; length >>= 7) {
    if (length < 0x80) return message + static_cast<char>(length) + bytes;
    message += static_cast<char>((length & 0x7F) | 0x80);
  }
}

}  // namespace

TEST_CASE("a character map whose walks stay inside is sound", "[text][sentencepiece_check]") {
  CHECK(detail::is_sound_character_map(""));
  CHECK(detail::is_sound_character_map(map_of(0)));
  CHECK(detail::is_sound_character_map(map_of(4)));
}

TEST_CASE("a character map that leads outside is not sound", "[text][sentencepiece_check]") {
  CHECK_FALSE(detail::is_sound_character_map(map_of(5)));
  CHECK_FALSE(detail::is_sound_character_map(map_of(0, 255)));
  CHECK_FALSE(detail::is_sound_character_map(map_of(0, 0)));
  CHECK_FALSE(detail::is_sound_character_map("abc"));
  std::string map = map_of(0);
  map.back() = 'q';
  CHECK_FALSE(detail::is_sound_character_map(map));
  map = map_of(0);
  map[4 + 'a' * 4 + 2] = '\x7F';  // the offset of "a" leaves the array
  CHECK_FALSE(detail::is_sound_character_map(map));
  map = map_of(0);
  map[1] = 0x7F;
  CHECK_FALSE(detail::is_sound_character_map(map));
}

TEST_CASE("the maps of a model are found in its fields", "[text][sentencepiece_check]") {
  CHECK(detail::has_sound_character_maps(field(1, "piece") + field(3, field(1, "nmt") + field(2, map_of(1)))));
  CHECK_FALSE(detail::has_sound_character_maps(field(1, "piece") + field(3, field(2, map_of(9)))));
  CHECK_FALSE(detail::has_sound_character_maps(field(5, field(2, map_of(9)))));
  CHECK(
      detail::has_sound_character_maps(std::string("\x08\x96\x01\x11"
                                                   "12345678"
                                                   "\x1D"
                                                   "1234",
                                                   17)));
  for (const char* broken : {"\x0A\x05"
                             "abc",
                             "\x08", "\x0B", "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
                             "\x11"
                             "123",
                             "\x1D"
                             "1"}) {
    CHECK_FALSE(detail::has_sound_character_maps(broken));
  }
}

TEST_CASE("real models are sound", "[text][sentencepiece_check]") {
  for (const char* name : {"spm-bpe", "spm-unigram"}) {
    CHECK(detail::has_sound_character_maps(golden::read(std::string(name) + "/tokenizer.model")));
  }
}
