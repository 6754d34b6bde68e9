// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/reasoning_splitter.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <string>

using namespace tulle;

namespace {

using Parts = ReasoningSplitter::Parts;

Parts split(const std::string& text, std::size_t piece, bool inside = false) {
  ReasoningSplitter splitter(inside);
  Parts all;
  const auto add = [&](const Parts& parts) {
    all.reasoning += parts.reasoning;
    all.answer += parts.answer;
  };
  for (std::size_t begin = 0; begin < text.size(); begin += piece) add(splitter.next(text.substr(begin, piece)));
  add(splitter.finish());
  return all;
}

void check(const std::string& text, const std::string& reasoning, const std::string& answer, bool inside = false) {
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
    const Parts parts = split(text, piece, inside);
    CAPTURE(text, piece);
    CHECK(parts.reasoning == reasoning);
    CHECK(parts.answer == answer);
  }
}

}  // namespace

TEST_CASE("a block at the beginning is the reasoning, in pieces of any size", "[generate][reasoning_splitter]") {
  check("<think>\nOne and one.\n</think>\n\nTwo.", "One and one.", "Two.");
  check("\n<think>a < b, </thin c</think>d", "a < b, </thin c", "d");
  check("<think>\n\n</think>\n\nShort.", "", "Short.");
  check("I think</think> so", "I think", "so", true);
}

TEST_CASE("what is no block stays as it is", "[generate][reasoning_splitter]") {
  check("Two <think>no</think>.", "", "Two <think>no</think>.");
  check("<thin ice", "", "<thin ice");
  check("  spaces", "", "  spaces");
  check("", "", "");
}

TEST_CASE("a text that ends within its reasoning has no answer", "[generate][reasoning_splitter]") {
  check("<think>one, two\n", "one, two\n", "");
  check("one </thi", "one </thi", "", true);
}
