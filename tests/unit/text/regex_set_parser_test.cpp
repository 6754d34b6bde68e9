// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/regex_set_parser.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include <tulle/text/regex.hpp>

using namespace tulle;

namespace {

ErrorCode code_of(const std::string& pattern) {
  try {
    const Regex regex(pattern, "test");
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::state;  // no error
}

bool matches(const std::string& pattern, const std::string& text) {
  const Regex regex(pattern, "test");
  Regex::Scratch scratch;
  const auto match = regex.search(text, 0, scratch);
  return match && match->begin == 0 && match->end == text.size();
}

}  // namespace

TEST_CASE("classes mean sets of code points", "[text][regex_set_parser]") {
  CHECK(matches("[a-c]", "b"));
  CHECK_FALSE(matches("[a-c]", "d"));
  CHECK(matches("[^a-c]", "d"));
  CHECK(matches("\\p{L}", "\xC3\xA9"));
  CHECK(matches("\\p{N}", "7"));
  CHECK_FALSE(matches("\\p{N}", "x"));
  CHECK(matches("[^\\s\\p{L}\\p{N}]", "!"));
  CHECK(matches("\\s", "\xC2\xA0"));
}

TEST_CASE("patterns that cannot be read are refused with a reason", "[text][regex_set_parser]") {
  CHECK(code_of("[z-a]") != ErrorCode::state);
  CHECK(code_of("[abc") != ErrorCode::state);
  CHECK(code_of("\\p{Nonsense}") == ErrorCode::unsupported);
  CHECK(code_of("\xFF") == ErrorCode::malformed);
  CHECK(code_of(std::string(30000, 'a')) == ErrorCode::unsupported);
  CHECK(code_of(std::string(200, '[')) != ErrorCode::state);
  CHECK(code_of("[a-z]+") == ErrorCode::state);
}
