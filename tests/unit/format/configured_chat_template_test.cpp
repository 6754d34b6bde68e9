// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/configured_chat_template.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("a configured chat template is a string or the default of a list", "[format][chat_template]") {
  const auto of = [](const char* text) { return detail::configured_chat_template(Json::parse(text), "c"); };
  CHECK(of("null").empty());
  CHECK(of("{}").empty());
  CHECK(of(R"({"chat_template": null})").empty());
  CHECK(of(R"({"chat_template": "one"})") == "one");
  CHECK(of(R"({"chat_template": [{"name": "rag", "template": "no"}, {"name": "default", "template": "two"}]})") ==
        "two");
  CHECK(of(R"({"chat_template": [{"name": "rag", "template": "no"}]})").empty());
  for (const char* text : {R"({"chat_template": 7})", R"({"chat_template": [1]})"}) {
    CHECK(test::error_of([&] { (void)of(text); }) == ErrorCode::malformed);
  }
}
