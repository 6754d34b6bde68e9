// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/printing.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

std::string repr(const Value& value) {
  std::string text;
  append_repr(budget, text, value);
  return text;
}

}  // namespace

TEST_CASE("values print as in Python", "[text][jinja_printing]") {
  CHECK(to_text(budget, Value()).empty());
  CHECK(to_text(budget, Value(None{})) == "None");
  CHECK(to_text(budget, Value(true)) == "True");
  CHECK(to_text(budget, Value("it's")) == "it's");
  const Value one = std::int64_t{1};
  CHECK(to_text(budget, Value::sequence({one, Value("a"), None{}})) == "[1, 'a', None]");
  CHECK(to_text(budget, Value::sequence({one}, Flavor::tuple)) == "(1,)");
  CHECK(to_text(budget, Value::mapping({{Value("k"), Value::sequence({}, Flavor::tuple)}})) == "{'k': ()}");
}

TEST_CASE("quotes and escapes are those of Python's repr", "[text][jinja_printing]") {
  CHECK(repr(Value("")) == "''");
  CHECK(repr(Value("it's")) == "\"it's\"");
  CHECK(repr(Value("it's \"both\"")) == "'it\\'s \"both\"'");
  CHECK(repr(Value("\n\t\\\x01\x7F\xC2\xA0\xE2\x80\x8B\xC3\xA9")) == "'\\n\\t\\\\\\x01\\x7f\\xa0\\u200b\xC3\xA9'");
}

TEST_CASE("a namespace that holds itself ends in an error", "[text][jinja_printing]") {
  Namespace space;
  space.attributes.emplace_back("self", Value(&space));
  CHECK_THROWS_AS(repr(Value(&space)), Error);
}

TEST_CASE("text beyond the budget is refused before it is made", "[text][jinja_printing]") {
  Budget small(Limits{.steps = 100, .bytes = 5, .levels = 10});
  std::string text;
  append(small, text, "12345");
  CHECK_THROWS_AS(append(small, text, "6"), Error);
  CHECK(text == "12345");
}
