// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/dataset_row.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

namespace {

DatasetRow row(std::string_view json, const Names& columns) {
  return row_of(parse_json(json, "data"), columns, "data, line 7");
}

Names defaults(std::string_view json) {
  return default_columns(parse_json(json, "data"), "data");
}

}  // namespace

TEST_CASE("names of columns are parted by +", "[format][dataset]") {
  CHECK(parse_columns("text") == Names{"text"});
  CHECK(parse_columns("instruction+output") == Names{"instruction", "output"});
  CHECK(parse_columns("a+b c+d") == Names{"a", "b c", "d"});
  for (const char* names : {"", "+", "a+", "+a", "a++b"}) {
    CHECK(test::error_of([&] { (void)parse_columns(names); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("columns are joined without anything between", "[format][dataset]") {
  constexpr std::string_view json = R"({"prompt": "def f():\n", "solution": "  return 1\n", "id": 3})";
  CHECK(row(json, {"prompt", "solution"}).text == "def f():\n  return 1\n");
  CHECK(row(json, {"solution"}).text == "  return 1\n");
}

TEST_CASE("a column that is not there is an error that lists those that are", "[format][dataset]") {
  CHECK_THROWS_WITH(row(R"({"a": "1", "b": "2"})", {"a", "c"}),
                    ContainsSubstring("line 7") && ContainsSubstring("\"c\"") && ContainsSubstring("\"a\", \"b\""));
  CHECK_THROWS_WITH(row("{}", {"a"}), ContainsSubstring("none"));
  std::string many = "{\"c0\":1";
  for (int i = 1; i < 100; ++i) many += ",\"c" + std::to_string(i) + "\":1";
  CHECK_THROWS_WITH(row(many + "}", {"a"}), ContainsSubstring("..."));
  CHECK(test::error_of([] { (void)row("{\"a\\nb\": 1}", {"x\ny"}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a column that is not text is malformed", "[format][dataset]") {
  for (const char* value : {"null", "1", "true", "{}", "[\"a\"]", "[]", R"([{"role": "user"}])",
                            R"([{"role": "user", "content": null}])"}) {
    CAPTURE(value);
    CHECK(test::error_of([&] { (void)row("{\"a\": " + std::string(value) + "}", {"a"}); }) == ErrorCode::malformed);
  }
}

TEST_CASE("a column of chat messages is read as such", "[format][dataset]") {
  const DatasetRow chat = row(
      R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]})", {"messages"});
  CHECK(chat.text.empty());
  REQUIRE(chat.messages.size() == 2);
  CHECK(chat.messages[1].role == "assistant");
  CHECK(chat.messages[1].content == "Hello");
}

TEST_CASE("without a name the column is text, messages, or the only one that holds text", "[format][dataset]") {
  CHECK(defaults(R"({"text": "a", "messages": [], "b": "c"})") == Names{"text"});
  CHECK(defaults(R"({"messages": [], "b": "c"})") == Names{"messages"});
  CHECK(defaults(R"({"id": 1, "body": "c"})") == Names{"body"});
  CHECK_THROWS_WITH(defaults(R"({"a": "1", "b": "2"})"), ContainsSubstring("\"a\", \"b\""));
  CHECK(test::error_of([] { (void)defaults(R"({"a": 1})"); }) == ErrorCode::invalid_argument);
}
