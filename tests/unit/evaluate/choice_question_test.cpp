// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/choice_question.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using test::TemporaryFolder;

namespace {

ChoiceQuestion question(const std::string& json) {
  const TemporaryFolder folder;
  return read_choice_questions(folder.write("a.json", "[" + json + "]")).at(0);
}

}  // namespace

TEST_CASE("a question has a context, choices and an answer", "[evaluate]") {
  const ChoiceQuestion plain = question(R"({"context": "2 + 2 =", "choices": ["3", "4"], "answer": 1, "id": 7})");
  CHECK(plain.context == "2 + 2 =");
  CHECK(plain.choices == std::vector<std::string>{"3", "4"});
  CHECK(plain.answer == 1);
}

TEST_CASE("questions of well-known data sets are read as they are", "[evaluate]") {
  CHECK(question(R"({"ctx": "A man", "endings": ["a", "b", "c"], "label": "2"})").answer == 2);
  CHECK(question(R"({"query": "", "choices": ["a", "b"], "gold": 0})").answer == 0);
  CHECK(question(R"({"question": "Q", "choices": ["a", "b", "c", "d"], "answer": "C"})").answer == 2);
  const ChoiceQuestion arc =
      question(R"({"question": "Q", "choices": {"text": ["a", "b"], "label": ["1", "2"]}, "answerKey": "2"})");
  CHECK(arc.choices == std::vector<std::string>{"a", "b"});
  CHECK(arc.answer == 1);
}

TEST_CASE("a question that is none is malformed, with its row", "[evaluate]") {
  for (const char* json :
       {R"({"choices": ["a", "b"], "answer": 0})", R"({"context": "Q", "answer": 0})",
        R"({"context": "Q", "choices": ["a", "b"]})", R"({"context": 1, "choices": ["a", "b"], "answer": 0})",
        R"({"context": "Q", "choices": ["a"], "answer": 0})", R"({"context": "Q", "choices": ["a", 2], "answer": 0})",
        R"({"context": "Q", "choices": "ab", "answer": 0})", R"({"context": "Q", "choices": ["a", "b"], "answer": 2})",
        R"({"context": "Q", "choices": ["a", "b"], "answer": -1})",
        R"({"context": "Q", "choices": ["a", "b"], "answer": "Z"})",
        R"({"context": "Q", "choices": ["a", "b"], "answer": "no"})", R"({"context": "Q", "choices": {}, "answer": 0})",
        R"({"context": "Q", "choices": {"text": ["a", "b"], "label": 5}, "answer": 0})"}) {
    CAPTURE(json);
    CHECK(test::error_of([&] { (void)question(json); }) == ErrorCode::malformed);
    CHECK_THROWS_WITH(question(json), Catch::Matchers::ContainsSubstring("row 1"));
  }
}

TEST_CASE("the first questions are read, and none is an error", "[evaluate]") {
  const TemporaryFolder folder;
  const std::string one = R"({"context": "Q", "choices": ["a", "b"], "answer": 0})";
  const std::string path = folder.write("a.jsonl", one + "\n" + one + "\n" + one + "\n");
  CHECK(read_choice_questions(path).size() == 3);
  CHECK(read_choice_questions(path, 2).size() == 2);
  CHECK(test::error_of([&] { (void)read_choice_questions(folder.write("b.json", "[]")); }) ==
        ErrorCode::invalid_argument);
}
