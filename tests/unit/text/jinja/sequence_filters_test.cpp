// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/sequence_filters.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value filter(const Value& input, std::string_view name, Items positional = {}) {
  const Arguments arguments{std::move(positional), {}};
  for (const NamedFilter& candidate : detail::sequence_filters) {
    if (candidate.name == name) return candidate.function(budget, input, arguments);
  }
  FAIL("no such filter");
  return {};
}

Value number(std::int64_t value) {
  return value;
}

std::string shown(const Value& value) {
  return to_text(budget, Value::sequence(value.items()));
}
Value list(Items items) {
  return Value::sequence(std::move(items));
}

const Value words = list({Value("b"), Value("A"), Value("a"), Value("B")});

}  // namespace

TEST_CASE("sorting ignores case by default and keeps equal items in order", "[text][jinja_sequence_filters]") {
  CHECK(shown(filter(words, "sort")) == "['A', 'a', 'b', 'B']");
  CHECK(shown(filter(words, "sort", {true})) == "['b', 'B', 'A', 'a']");
  CHECK(shown(filter(words, "sort", {false, true})) == "['A', 'B', 'a', 'b']");
  CHECK_THROWS_AS(filter(list({number(1), Value("a")}), "sort"), Error);
}

TEST_CASE("unique, min and max keep the first", "[text][jinja_sequence_filters]") {
  CHECK(shown(filter(words, "unique")) == "['b', 'A']");
  CHECK(filter(words, "min").text() == "A");
  CHECK(filter(words, "max").text() == "b");
  CHECK(filter(list({}), "min").is(Kind::undefined));
}

TEST_CASE("first, last, join and reverse", "[text][jinja_sequence_filters]") {
  CHECK(filter(words, "first").text() == "b");
  CHECK(filter(Value("\xC3\xA4"
                     "b"),
               "first")
            .text() == "\xC3\xA4");
  CHECK(filter(list({}), "last").is(Kind::undefined));
  CHECK(filter(list({number(1), None{}, Value()}), "join", {Value("-")}).text() == "1-None-");
  CHECK(filter(Value("ab"), "reverse").text() == "ba");
  CHECK(filter(words, "reverse").is(Flavor::generator));
  CHECK_THROWS_AS(filter(filter(words, "reverse"), "last"), Error);
  CHECK_THROWS_AS(filter(number(1), "join"), Error);
  CHECK_THROWS_AS(filter(words, "items"), Error);
  CHECK_THROWS_AS(filter(words, "dictsort"), Error);
}
