// SPDX-License-Identifier: Apache-2.0
#include <tulle/grammar/schema_formats.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/grammar/json_schema.hpp>
#include <tulle/text/regex.hpp>

namespace {

using namespace tulle;

/// Whether the pattern of a format matches the whole text.
bool matches(std::string_view format, std::string_view text) {
  const Regex regex("^(?:" + detail::schema_format(format)->pattern + ")$", "test");
  Regex::Scratch scratch;
  return regex.search(text, 0, scratch).has_value();
}

struct Example {
  std::string_view format;
  std::vector<std::string_view> right, wrong;
};

TEST_CASE("a text has its format exactly", "[grammar][schema_formats]") {
  const std::string label(63, 'a'), labels = label + "." + label, longer(64, 'a'), last = "a." + longer;
  const std::vector<Example> examples{
      {"date",
       {"2024-02-29", "2023-12-31", "1999-04-30", "0000-01-01", "2023-02-29"},
       {"2024-02-30", "2024-04-31", "2024-11-31", "2024-00-10", "2024-13-10", "2024-01-32", "2024-01-00", "24-01-01"}},
      {"time",
       {"00:00:00Z", "23:59:59.123456789+14:00", "12:30:00-00:30"},
       {"23:59:60Z", "24:00:00Z", "12:60:00Z", "12:00:00", "12:00:00.Z", "12:00:00+24:00", "1:00:00Z"}},
      {"date-time",
       {"2024-02-29T12:00:00Z", "2024-12-31T00:00:00.5+01:00"},
       {"2024-02-30T12:00:00Z", "2024-02-29", "2024-02-29 12:00:00Z", "2024-02-29T12:00:60Z"}},
      {"ipv4",
       {"0.0.0.0", "255.255.255.255", "192.168.1.99"},
       {"161.099.222.28", "256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3."}},
      {"ipv6",
       {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "fe80::1:2", "::ffff:1.2.3.4", "64:ff9b::1.2.3.4"},
       {"1:2:3:4:5:6:7", "1::2::3", ":1", "12345::", "::ffff:1.2.3.04", "1:2:3:4:5:6:7:8:9"}},
      {"hostname",
       {"a", "example.com", "a-b.C0", label, labels},
       {"-a", "a-", "a..b", ".a", "a.", "a_b", longer, last, ""}},
      {"relative-json-pointer", {"0", "1#", "2/a~1b"}, {"01", "/a", "1/a~2"}}};
  for (const auto& [format, right, wrong] : examples) {
    for (const std::string_view text : right) {
      CAPTURE(format, text);
      CHECK(matches(format, text));
      const auto known = *detail::schema_format(format);
      CHECK(text.size() >= known.min_length);
      CHECK(text.size() <= known.max_length);
    }
    for (const std::string_view text : wrong) {
      CAPTURE(format, text);
      CHECK_FALSE(matches(format, text));
    }
  }
}

TEST_CASE("a length beside a format is one that every text has, or refused", "[grammar][schema_formats]") {
  const auto understood = [](const char* schema) { return Json::parse(understood_schema(schema)); };
  const Json date = understood(R"({"type": "string", "format": "date"})");
  CHECK(date.contains("pattern"));
  CHECK(understood(R"({"type": "string", "format": "date", "minLength": 10, "maxLength": 10})") == date);
  CHECK(understood(R"({"format": "date"})") == date);  // what is about texts alone
  const Json uuid{{"type", "string"}, {"format", "uuid"}};
  CHECK(understood(R"({"type": "string", "format": "uuid", "minLength": 36, "maxLength": 36})") == uuid);
  CHECK(understood(R"({"type": "string", "format": "uri", "minLength": 1})")["format"] == "uri");
  CHECK(understood(R"({"type": "string", "format": "date-time", "maxLength": 64})").contains("pattern"));
  // Of a format that is not known the length counts.
  CHECK(understood(R"({"type": "string", "format": "color", "maxLength": 3})") ==
        understood(R"({"type": "string", "maxLength": 3})"));
  for (const char* refused : {R"({"type": "string", "format": "date-time", "pattern": "Z$"})",
                              R"({"type": "string", "format": "uri", "maxLength": 20})",
                              R"({"type": "string", "format": "date", "maxLength": 9})",
                              R"({"type": "string", "format": "email", "minLength": 10})"}) {
    CAPTURE(refused);
    CHECK_THROWS_WITH(understood_schema(refused), Catch::Matchers::ContainsSubstring("\"format\" together with"));
  }
}

}  // namespace
