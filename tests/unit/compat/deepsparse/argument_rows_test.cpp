// SPDX-License-Identifier: Apache-2.0
#include <tulle/compat/deepsparse/argument_rows.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

struct Settings {
  std::string order;
};

constexpr ArgumentRow<Settings> rows[] = {
    {"temperature", "here", "a letter", [](auto& value, auto& settings) { settings.order += "t" + value.text(); }},
    {"top_k", "here", "a letter", [](auto& value, auto& settings) { settings.order += "k" + value.text(); }},
    {"limit", "here", "null is none",
     [](auto& value, auto& settings) { settings.order += value.json().is_null() ? "-" : "l"; }, true},
    {"alias", "there", "changes nothing", detail::change_nothing},
    {"streamer", "there", "refused: no objects", detail::refuse_all},
};

std::string applied(const char* arguments) {
  Settings settings;
  detail::apply_rows<Settings>(rows, Json::parse(arguments), settings);
  return settings.order;
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  detail::append_names<Settings>(rows, all);
  return all;
}

std::string unknown(const Json& arguments) {
  const std::vector<std::string_view> known = names(), elsewhere{"sequence_length"};
  try {
    detail::require_known(arguments, "a call", known, elsewhere);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "known";
}

TEST_CASE("rows are applied in the order of the table", "[generate][argument_rows]") {
  CHECK(applied(R"({"top_k": "2", "temperature": "1"})") == "t1k2");
  CHECK(applied("{}") == "");
  CHECK(applied(R"({"alias": [1, 2]})") == "");
}

TEST_CASE("null leaves a setting alone unless it is a value", "[generate][argument_rows]") {
  CHECK(applied(R"({"temperature": null, "streamer": null, "limit": null})") == "-");
}

TEST_CASE("a refused argument says why", "[generate][argument_rows]") {
  CHECK_THROWS_WITH(applied(R"({"streamer": 1})"), "argument \"streamer\" cannot be 1: refused: no objects");
}

TEST_CASE("an unknown argument is named with those that it may have been", "[generate][argument_rows]") {
  CHECK(unknown(Json::parse(R"({"temperature": 1})")) == "known");
  CHECK(unknown(Json::parse(R"({"temprature": 1})")) ==
        "unknown argument \"temprature\" of a call; did you mean temperature?");
  CHECK(unknown(Json::parse(R"({"limits": 1})")) == "unknown argument \"limits\" of a call; did you mean limit?");
  CHECK(unknown(Json::parse(R"({"sampling_temperature_": 1})")) ==
        "unknown argument \"sampling_temperature_\" of a call; did you mean temperature?");
  CHECK(unknown(Json::parse(R"({"zzz": 1})")) ==
        "unknown argument \"zzz\" of a call; COMPATIBILITY.md lists all that are known");
  CHECK(unknown(Json::parse(R"({"": 1})")) ==
        "unknown argument \"\" of a call; COMPATIBILITY.md lists all that are known");
}

TEST_CASE("an argument that belongs elsewhere gets an error that says so", "[generate][argument_rows]") {
  CHECK(unknown(Json::parse(R"({"sequence_length": 1})")) == "argument \"sequence_length\" does not belong to a call");
}

TEST_CASE("names of any length and bytes give one short line", "[generate][argument_rows]") {
  Json arguments;
  arguments[std::string(1000000, 't')] = 1;
  CHECK(unknown(arguments).size() < 250);
  CHECK(unknown(Json::parse("{\"top\\nk\": 1}")) == "unknown argument \"top?k\" of a call; did you mean top_k?");
}

TEST_CASE("arguments that are no object are refused", "[generate][argument_rows]") {
  for (const char* text : {"[]", "1", "\"temperature\"", "null"}) {
    CHECK(unknown(Json::parse(text)) == "the arguments of a call must be a JSON object");
  }
}

}  // namespace
