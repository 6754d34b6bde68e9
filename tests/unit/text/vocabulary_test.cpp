// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/vocabulary.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("contents are found by id and ids by content", "[text][vocabulary]") {
  Vocabulary filled({{"b", 1}, {"hello", 3}, {"\u4E00", 0}}, "test");
  const Vocabulary vocabulary = std::move(filled);
  CHECK(vocabulary.size() == 4);
  CHECK(vocabulary.find("hello") == 3);
  CHECK(vocabulary.find("b") == 1);
  CHECK_FALSE(vocabulary.find("c"));
  CHECK_FALSE(vocabulary.find(""));
  CHECK(vocabulary.content(3) == "hello");
  CHECK(vocabulary.find_character("xb", 1, decode_utf8("xb", 1)) == 1);
  CHECK(vocabulary.find_character("\u4E00", 0, decode_utf8("\u4E00", 0)) == 0);
  CHECK_FALSE(vocabulary.find_character("h", 0, decode_utf8("h", 0)));
}

TEST_CASE("holes and ids outside have no content", "[text][vocabulary]") {
  const Vocabulary vocabulary({{"a", 2}, {"", 1}}, "test");
  CHECK(vocabulary.content(1).empty());
  CHECK(vocabulary.content(0).empty());
  CHECK(vocabulary.content(3).empty());
  CHECK(vocabulary.content(-1).empty());
}

TEST_CASE("of equal contents the first keeps its id", "[text][vocabulary]") {
  const Vocabulary vocabulary({{"a", 0}, {"a", 1}}, "test");
  CHECK(vocabulary.find("a") == 0);
  CHECK(vocabulary.find_character("a", 0, decode_utf8("a", 0)) == 0);
  CHECK(vocabulary.content(1) == "a");
}

TEST_CASE("impossible ids are errors before anything is allocated", "[text][vocabulary]") {
  CHECK_THROWS_AS(Vocabulary({{"a", -1}}, "test"), Error);
  CHECK_THROWS_AS(Vocabulary({{"a", 2000000000}}, "test"), Error);
  CHECK_THROWS_AS(Vocabulary({{"a", 1}, {"b", 1}}, "test"), Error);
}
