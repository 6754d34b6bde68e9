// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/stop_strings.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

/// Pushes pieces until a stop string appears; returns what was shown.
std::string shown(const std::vector<std::string>& stops, const std::vector<std::string>& pieces,
                  bool* stopped = nullptr) {
  StopStrings strings(stops);
  std::string text;
  for (const std::string& piece : pieces) text += strings.push(piece);
  text += strings.finish();
  if (stopped != nullptr) *stopped = strings.stopped();
  return text;
}

std::vector<std::string> letters(const std::string& text) {
  std::vector<std::string> pieces;
  for (const char letter : text) pieces.emplace_back(1, letter);
  return pieces;
}

}  // namespace

TEST_CASE("text ends before the first stop string, in whatever pieces it comes", "[generate][stop_strings]") {
  for (const auto& pieces : {std::vector<std::string>{"one STOP two"},
                             {"one S", "TOP two"},
                             {"one ", "STOP", " two"},
                             letters("one STOP two")}) {
    bool stopped = false;
    CHECK(shown({"STOP"}, pieces, &stopped) == "one ");
    CHECK(stopped);
  }
  CHECK(shown({"zzz", "two", "one"}, letters("a one two")) == "a ");
  CHECK(shown({"two", "one"}, {"a two one"}) == "a ");
}

TEST_CASE("what only begins like a stop string is shown in the end", "[generate][stop_strings]") {
  bool stopped = true;
  CHECK(shown({"STOP"}, letters("one STO two ST"), &stopped) == "one STO two ST");
  CHECK_FALSE(stopped);
  CHECK(shown({"aab"}, letters("aaab")) == "a");
  CHECK(shown({"abab"}, letters("ababab")) == "");
  CHECK(shown({"\n\n"}, letters("a\nb\n\nc")) == "a\nb");
}

TEST_CASE("nothing is held back longer than it could still be a stop string", "[generate][stop_strings]") {
  StopStrings strings({"###", "end"});
  CHECK(strings.push("abc") == "abc");
  CHECK(strings.push("#") == "");
  CHECK(strings.push("x") == "#x");
  CHECK(strings.push("the e") == "the ");
  CHECK(strings.push("n") == "");
  CHECK(strings.push("t") == "ent");
  CHECK(strings.finish() == "");
}

TEST_CASE("after a stop string nothing is shown", "[generate][stop_strings]") {
  StopStrings strings({"."});
  CHECK(strings.push("a.b") == "a");
  CHECK(strings.push("c") == "");
  CHECK(strings.finish() == "");
}

TEST_CASE("without stop strings everything passes; an empty one is an error", "[generate][stop_strings]") {
  CHECK(shown({}, {"a", "", "b"}) == "ab");
  CHECK(test::error_of([] { (void)StopStrings({"a", ""}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("it is known which stop string a text ended before", "[generate][stop_strings]") {
  StopStrings strings({"two", "one", "on"});
  CHECK(strings.push("ten t").size() == 4);
  CHECK(strings.found().empty());
  CHECK(strings.push("one two") == "t");
  CHECK(strings.found() == "one");
}
