// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/configured_chat_template.hpp>

#include <catch2/catch_all.hpp>

#include <tulle/text/chat_template.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("of two chat templates one is for tools", "[format][chat_template]") {
  CHECK(detail::chat_template_of("", "tools").empty());
  CHECK(detail::chat_template_of("usual\n", "") == "usual\n");
  const std::string source = detail::chat_template_of("\nusual\n", "{% set n = tools|length %}\n{{ n }} tools\n");
  const ChatTemplate both(source);
  CHECK(both.render(Json::array(), Json::object()) == "\nusual");
  CHECK(both.render(Json::array(), {{"tools", Json::array()}}) == "\nusual");
  CHECK(both.render(Json::array(), {{"tools", {1, 2}}}) == "2 tools");
}

TEST_CASE("a configured chat template is a string or two of a list", "[format][chat_template]") {
  const auto of = [](const char* text) { return detail::configured_chat_template(Json::parse(text), "c"); };
  CHECK(of("null").empty());
  CHECK(of("{}").empty());
  CHECK(of(R"({"chat_template": null})").empty());
  CHECK(of(R"({"chat_template": "one"})") == "one");
  CHECK(of(R"({"chat_template": [{"name": "rag", "template": "no"}, {"name": "default", "template": "two"}]})") ==
        "two");
  CHECK(of(R"({"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]})") ==
        detail::chat_template_of("a", "b"));
  CHECK(of(R"({"chat_template": [{"name": "rag", "template": "no"}]})").empty());
  for (const char* text : {R"({"chat_template": 7})", R"({"chat_template": [1]})"}) {
    CHECK(test::error_of([&] { (void)of(text); }) == ErrorCode::malformed);
  }
}
