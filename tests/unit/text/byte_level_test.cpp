// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/byte_level.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;

TEST_CASE("every byte survives the alphabet", "[text][byte_level]") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  CHECK(from_byte_level(to_byte_level(bytes)) == bytes);
  CHECK(is_valid_utf8(to_byte_level(bytes)));
}

TEST_CASE("the alphabet is GPT-2's", "[text][byte_level]") {
  CHECK(to_byte_level(" ") == "\u0120");
  CHECK(to_byte_level("\n") == "\u010A");
  CHECK(to_byte_level("A~") == "A~");
  CHECK(to_byte_level(std::string("\0", 1)) == "\u0100");
  CHECK(to_byte_level("\xAD") == "\u0143");
  CHECK(to_byte_level("\xAE") == "\u00AE");
}

TEST_CASE("text outside the alphabet stands for no bytes", "[text][byte_level]") {
  CHECK_FALSE(from_byte_level("a b"));
  CHECK_FALSE(from_byte_level("\u0144"));
  CHECK_FALSE(from_byte_level("\u4E00"));
  CHECK(from_byte_level("") == "");
}
