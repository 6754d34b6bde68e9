// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/sentencepiece_check.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/text/golden_texts.hpp"
#include "unit/text/sentencepiece_models.hpp"

using namespace tulle;
using namespace tulle::test;

namespace {

std::string field(unsigned number, const std::string& bytes) {
  std::string message;
  append_bytes(message, number, bytes);
  return message;
}

}  // namespace

TEST_CASE("a character map whose walks stay inside is sound", "[text][sentencepiece_check]") {
  CHECK(detail::is_sound_character_map(""));
  CHECK(detail::is_sound_character_map(one_rule_map(0)));
  CHECK(detail::is_sound_character_map(one_rule_map(4)));
}

TEST_CASE("a character map that leads outside is not sound", "[text][sentencepiece_check]") {
  CHECK_FALSE(detail::is_sound_character_map(one_rule_map(5)));
  CHECK_FALSE(detail::is_sound_character_map(one_rule_map(0, 255)));
  CHECK_FALSE(detail::is_sound_character_map(one_rule_map(0, 0)));
  CHECK_FALSE(detail::is_sound_character_map("abc"));
  std::string map = one_rule_map(0);
  map.back() = 'q';
  CHECK_FALSE(detail::is_sound_character_map(map));
  map = one_rule_map(0);
  map[4 + 'a' * 4 + 2] = '\x7F';  // the offset of "a" leaves the array
  CHECK_FALSE(detail::is_sound_character_map(map));
  map = one_rule_map(0);
  map[1] = 0x7F;
  CHECK_FALSE(detail::is_sound_character_map(map));
}

TEST_CASE("the maps of a model are found in its fields", "[text][sentencepiece_check]") {
  CHECK(detail::has_sound_character_maps(field(1, "piece") + field(3, field(1, "nmt") + field(2, one_rule_map(1)))));
  CHECK_FALSE(detail::has_sound_character_maps(field(1, "piece") + field(3, field(2, one_rule_map(9)))));
  CHECK_FALSE(detail::has_sound_character_maps(field(5, field(2, one_rule_map(9)))));
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
  for (const char* name : {"spm-bpe", "spm-unigram", "spm-bpe-map", "spm-unigram-bare"}) {
    CHECK(detail::has_sound_character_maps(golden::read(std::string(name) + "/tokenizer.model")));
  }
}
