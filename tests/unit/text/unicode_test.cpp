// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/unicode.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

std::size_t count(const CodePointSet& set) {
  std::size_t total = 0;
  for (const CodePointSet::Range& range : set.ranges()) total += range.last - range.first + 1;
  return total;
}

}  // namespace

TEST_CASE("categories have as many code points as in Oniguruma", "[text][unicode]") {
  // Counted with `tokenizers` 0.23.3, whose Split takes Oniguruma's classes.
  CHECK(count(category_set("L")) == 141028);
  CHECK(count(category_set("Lu")) == 1858);
  CHECK(count(category_set("Ll")) == 2258);
  CHECK(count(category_set("Lt")) == 31);
  CHECK(count(category_set("Lm")) == 404);
  CHECK(count(category_set("Lo")) == 136477);
  CHECK(count(category_set("M")) == 2501);
  CHECK(count(category_set("N")) == 1911);
  CHECK(count(category_set("Nd")) == 760);
  CHECK(count(category_set("P")) == 855);
  CHECK(count(category_set("S")) == 8514);
  CHECK(count(category_set("Z")) == 19);
  CHECK(count(category_set("Cn")) == 819533);
}

TEST_CASE("categories divide all code points", "[text][unicode]") {
  std::size_t total = 0;
  for (const std::string_view name : category_names) total += count(category_set(name));
  CHECK(total == 0x110000);
}

TEST_CASE("a name that is no category gives nothing", "[text][unicode]") {
  CHECK(category_set("").ranges().empty());
  CHECK(category_set("l").ranges().empty());
  CHECK(category_set("Han").ranges().empty());
  CHECK(category_set("Xx").ranges().empty());
}

TEST_CASE("white space is Unicode's, without the zero width ones", "[text][unicode]") {
  CHECK(count(white_space_set()) == 25);
  for (const char32_t space : {U' ', U'\t', U'\x85', U'\xA0', U'\u3000', U'\u2028'})
    CHECK(white_space_set().contains(space));
  for (const char32_t other : {U'\u200B', U'\u180E', U'\uFEFF', U'\x1C'})
    CHECK_FALSE(white_space_set().contains(other));
}

TEST_CASE("word characters are letters, marks, digits and connectors", "[text][unicode]") {
  for (const char32_t word : {U'a', U'_', U'7', U'\u00E9', U'\u0301', U'\u2160', U'\u24B6', U'\u200D'}) {
    CHECK(word_set().contains(word));
  }
  for (const char32_t other : {U' ', U'-', U'\u00B2', U'\u00BD', U'\u2028'}) CHECK_FALSE(word_set().contains(other));
  CHECK(word_set().contains(U'\u200D'));
  for (const bool in_class : {false, true}) {  // Oniguruma 6.9.8, as the tokenizers package has it
    CHECK(regex_word_set(in_class).contains(U'\u00E9'));
    CHECK_FALSE(regex_word_set(in_class).contains(U'\u200D'));
    CHECK(regex_word_set(in_class).contains(U'\u00B2') == !in_class);
  }
}
