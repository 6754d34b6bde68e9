// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/splitting.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

std::vector<std::string> parts(std::string_view text, const char* separator, std::int64_t most, bool right) {
  const std::string sign = separator == nullptr ? "" : separator;
  std::vector<std::string> result;
  const Value list = split(budget, text, separator == nullptr ? nullptr : &sign, most, right);
  for (const Value& item : list.items()) result.push_back(item.text());
  return result;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("without a separator, runs of white space separate and the ends are dropped", "[text][jinja_splitting]") {
  CHECK(parts("  a \n b ", nullptr, -1, false) == Texts{"a", "b"});
  CHECK(parts(" a b c ", nullptr, 1, false) == Texts{"a", "b c "});
  CHECK(parts(" a b c ", nullptr, 1, true) == Texts{" a b", "c"});
  CHECK(parts(" ", nullptr, -1, false).empty());
}

TEST_CASE("with a separator, empty parts stay", "[text][jinja_splitting]") {
  CHECK(parts(",a,,b", ",", -1, false) == Texts{"", "a", "", "b"});
  CHECK(parts(",a,,b", ",", -1, true) == Texts{"", "a", "", "b"});
  CHECK(parts("a,b,c", ",", 0, false) == Texts{"a,b,c"});
  CHECK(parts("", ",", -1, false) == Texts{""});
}

TEST_CASE("an empty text to replace stands between all code points", "[text][jinja_splitting]") {
  CHECK(replace(budget,
                "\xC3\xA4"
                "b",
                "", "-", -1) == "-\xC3\xA4-b-");
  CHECK(replace(budget, "ab", "", "-", 2) == "-a-b");
  CHECK(replace(budget, "aaa", "aa", "", -1) == "a");
}

TEST_CASE("join prints what is no string, or refuses it", "[text][jinja_splitting]") {
  const Items items = {Value("a"), None{}};
  CHECK(join(budget, ",", items, false) == "a,None");
  CHECK_THROWS_AS(join(budget, ",", items, true), Error);
}

TEST_CASE("results beyond the budget are refused", "[text][jinja_splitting]") {
  Budget small(Limits{.steps = 1000, .bytes = 1000, .levels = 1});
  CHECK_THROWS_AS(replace(small, std::string(100, 'a'), "a", "0123456789A", -1), Error);
  CHECK_THROWS_AS(split(small, "a b c d e f g h i j k l m n", nullptr, -1, false), Error);
}
