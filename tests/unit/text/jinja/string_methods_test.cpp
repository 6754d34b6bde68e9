// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/string_methods.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value call(const std::string& self, std::string_view name, Items positional = {}) {
  const auto method = find_string_method(name);
  REQUIRE(method != nullptr);
  return method(budget, self, Arguments{std::move(positional), {}});
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list.items()) result.push_back(item.text());
  return result;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("split works with and without a separator, from both ends", "[text][jinja_string_methods]") {
  CHECK(texts(call("a,b,,c", "split", {Value(",")})) == Texts{"a", "b", "", "c"});
  CHECK(texts(call("", "split", {Value(",")})) == Texts{""});
  CHECK(texts(call("  a \n b ", "split")) == Texts{"a", "b"});
  CHECK(texts(call(" ", "split")).empty());
  CHECK(texts(call("a b c ", "split", {None{}, std::int64_t{1}})) == Texts{"a", "b c "});
  CHECK(texts(call(" a b c ", "rsplit", {None{}, std::int64_t{1}})) == Texts{" a b", "c"});
  CHECK(texts(call("a,b,c", "rsplit", {Value(","), std::int64_t{1}})) == Texts{"a,b", "c"});
  CHECK_THROWS_AS(call("a", "split", {Value("")}), Error);
  CHECK_THROWS_AS(call("a", "split", {Value(std::int64_t{1})}), Error);
}

TEST_CASE("replace replaces from the left, up to a count", "[text][jinja_string_methods]") {
  CHECK(call("aaa", "replace", {Value("aa"), Value("b")}).text() == "ba");
  CHECK(call("aaa", "replace", {Value("a"), Value("b"), Value(std::int64_t{2})}).text() == "bba");
  CHECK(call("\xC3\xA4"
             "b",
             "replace", {Value(""), Value("-")})
            .text() == "-\xC3\xA4-b-");
  CHECK(call("", "replace", {Value(""), Value("-")}).text() == "-");
  CHECK_THROWS_AS(call("a", "replace", {Value("a")}), Error);
}

TEST_CASE("affixes are one string or a tuple of them", "[text][jinja_string_methods]") {
  CHECK(call("abc", "startswith", {Value("ab")}).boolean());
  CHECK(call("abc", "endswith", {Value::sequence({Value("x"), Value("c")}, Flavor::tuple)}).boolean());
  CHECK_THROWS_AS(call("abc", "startswith", {Value::sequence({Value("a")})}), Error);
  CHECK(call("xaby", "removeprefix", {Value("x")}).text() == "aby");
  CHECK(call("xaby", "removesuffix", {Value("z")}).text() == "xaby");
}

TEST_CASE("positions count code points", "[text][jinja_string_methods]") {
  CHECK(call("\xC3\xA4"
             "bb",
             "find", {Value("b")})
            .integer() == 1);
  CHECK(call("\xC3\xA4"
             "bb",
             "rfind", {Value("b")})
            .integer() == 2);
  CHECK(call("ab", "find", {Value("x")}).integer() == -1);
  CHECK_THROWS_AS(call("ab", "index", {Value("x")}), Error);
  CHECK(call("aaa", "count", {Value("aa")}).integer() == 1);
}

TEST_CASE("isdigit is false for an empty string", "[text][jinja_string_methods]") {
  CHECK_FALSE(call("", "isdigit").boolean());
  CHECK_FALSE(call("1a", "isdigit").boolean());
  CHECK(call("12", "isdigit").boolean());
}

TEST_CASE("other methods are not known", "[text][jinja_string_methods]") {
  CHECK(find_string_method("format_map") == nullptr);
}

TEST_CASE("lines keep their ends where that is asked for", "[text][jinja_string_methods]") {
  CHECK(texts(call("a\r\nb\n", "splitlines")) == Texts{"a", "b"});
  CHECK(texts(call("a\r\nb\nc", "splitlines", {true})) == Texts{"a\r\n", "b\n", "c"});
}
