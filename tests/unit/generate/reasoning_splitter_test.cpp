// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/reasoning_splitter.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <string>

using namespace tulle;

namespace {

using Parts = ReasoningSplitter::Parts;

Parts split(const std::string& text, std::size_t piece, ReasoningFormat format, bool inside) {
  ReasoningSplitter splitter(format, inside);
  Parts all;
  const auto add = [&](const Parts& parts) {
    all.reasoning += parts.reasoning;
    all.answer += parts.answer;
  };
  for (std::size_t begin = 0; begin < text.size(); begin += piece) add(splitter.next(text.substr(begin, piece)));
  add(splitter.finish());
  return all;
}

void check(ReasoningFormat format, const std::string& text, const std::string& reasoning, const std::string& answer,
           bool inside = false) {
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
    const Parts parts = split(text, piece, format, inside);
    CAPTURE(text, piece);
    CHECK(parts.reasoning == reasoning);
    CHECK(parts.answer == answer);
  }
}

void check(const std::string& text, const std::string& reasoning, const std::string& answer, bool inside = false) {
  check(ReasoningFormat::think, text, reasoning, answer, inside);
}

}  // namespace

TEST_CASE("a block at the beginning is the reasoning, in pieces of any size", "[generate][reasoning_splitter]") {
  check("<think>\nOne and one.\n</think>\n\nTwo.", "One and one.", "Two.");
  check("\n<think>a < b, </thin c</think>d", "a < b, </thin c", "d");
  check("<think>\n\n</think>\n\nShort.", "", "Short.");
  check("I think</think> so", "I think", "so", true);
  check("<think>One.</think> \n", "One.", "");
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

TEST_CASE("an answer in a block of its own is taken out of it, as Granite writes it",
          "[generate][reasoning_splitter]") {
  check("<think>One.</think>\n<response> Two <b>. </response>", "One.", "Two <b>.");
  check("<think>One.</think><resp", "One.", "<resp");
  check("<response>Two.</response>", "", "<response>Two.</response>");
  check("One.</think><response>Two.", "One.", "Two.", true);
}

TEST_CASE("thoughts in brackets end before the answer, the answer at </s>", "[generate][reasoning_splitter]") {
  const auto bracketed = [](auto... given) { check(ReasoningFormat::brackets, given...); };
  bracketed("[THINK]One [a].[/THINK]Two</s>", "One [a].", "Two");
  bracketed("Two</s>", "", "Two");
  bracketed("One[/THINK]\nTwo </s", "One", "Two </s", true);
  bracketed("[THINK]One", "One", "");
}

TEST_CASE("the channel of analysis is the reasoning, others are the answer", "[generate][reasoning_splitter]") {
  const auto channels = [](auto... given) { check(ReasoningFormat::channels, given...); };
  channels("<|channel|>analysis<|message|>One <| a.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>",
           "One <| a.", "Two.");
  channels("<|channel|>final<|message|>Two", "", "Two");
  channels("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>analysis<|message|>B<|end|>", "A\nB",
           "");
  channels("<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>", "", "{\"a\": 1}");
  channels("<|channel|>commentary to=functions.run_analysis <|constrain|>json<|message|>{}<|call|>", "", "{}");
  channels("<|channel|>analysis<|message|>cut", "cut", "");
  channels("<|channel|>ana", "", "");
  channels("Two.", "", "Two.");
}

TEST_CASE("a template's text tells its format", "[generate][reasoning_splitter]") {
  CHECK(reasoning_format("<|start|>assistant<|channel|>final") == ReasoningFormat::channels);
  CHECK(reasoning_format("'[THINK]' + block['thinking']") == ReasoningFormat::brackets);
  CHECK(reasoning_format("<think>") == ReasoningFormat::think);
  CHECK(reasoning_format("") == ReasoningFormat::think);
  CHECK_FALSE(has_special_marks(ReasoningFormat::think));
  CHECK(has_special_marks(ReasoningFormat::channels));
}
