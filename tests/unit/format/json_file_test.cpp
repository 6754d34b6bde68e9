// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/json_file.hpp>

#include <catch2/catch_all.hpp>
#include <string_view>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

TEST_CASE("a file of one JSON object is read", "[format][json_file]") {
  const TemporaryFolder folder;
  CHECK(detail::read_json_object(folder.write("a.json", R"({"a": [1, null]} )")) == Json{{"a", {1, nullptr}}});
  CHECK(error_of([&] { detail::read_json_object(folder.path("missing.json")); }) == ErrorCode::not_found);
  CHECK(error_of([&] { detail::read_json_object(folder.write("empty.json", "")); }) == ErrorCode::malformed);
  const std::string list = folder.write("list.json", "[1]");
  CHECK(message_of([&] { detail::read_json_object(list); }) == list + ": expected a JSON object, found array");
}

TEST_CASE("numbers that no double holds and NUL bytes are malformed", "[format][json_file]") {
  const auto code_of = [](std::string_view text) { return error_of([&] { detail::parse_json_object(text, "f"); }); };
  CHECK(code_of(R"({"a": 1e308})") == std::nullopt);
  CHECK(code_of(R"({"a": 1e999})") == ErrorCode::malformed);
  CHECK(code_of(std::string_view("{}\0x", 4)) == ErrorCode::malformed);
  CHECK(code_of(std::string_view("\0", 1)) == ErrorCode::malformed);
}
