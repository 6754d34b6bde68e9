// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/humaneval.hpp>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/file_builder.hpp>
#include <unit/generate/tiny_pipeline.hpp>
#include <vector>

using namespace tulle;
using test::TemporaryFolder;

namespace {

std::vector<HumanEvalTask> three_tasks() {
  return {{"T/0", "def f(n):\n"}, {"T/1", "import os\n\ndef g():\n"}, {"T/2", "x = "}};
}

std::vector<std::string> completions(const HumanEvalOptions& options) {
  const auto pipeline = testing::tiny_pipeline(testing::small_engine());
  std::vector<std::string> texts;
  complete_humaneval(*pipeline, three_tasks(), options, [&](const HumanEvalSample& sample) {
    CHECK(sample.task_id == "T/" + std::to_string(texts.size()));
    texts.push_back(sample.completion);
  });
  return texts;
}

}  // namespace

TEST_CASE("tasks are rows with task_id and prompt", "[evaluate]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl",
                                        "{\"task_id\": \"T/0\", \"prompt\": \"def f():\\n\", \"test\": \"\"}\n"
                                        "{\"task_id\": \"T/1\", \"prompt\": \"def g():\\n\"}\n");
  REQUIRE(read_humaneval(path).size() == 2);
  CHECK(read_humaneval(path)[1].task_id == "T/1");
  CHECK(read_humaneval(path)[1].prompt == "def g():\n");
  CHECK(read_humaneval(path, 1).size() == 1);
  for (const char* row : {R"({"task_id": "T/0"})", R"({"prompt": "x"})", R"({"task_id": 3, "prompt": "x"})"}) {
    CHECK(test::error_of([&] { (void)read_humaneval(folder.write("b.jsonl", row)); }) == ErrorCode::malformed);
  }
  CHECK(test::error_of([&] { (void)read_humaneval(folder.write("c.json", "[]")); }) == ErrorCode::invalid_argument);
}

TEST_CASE("every task is completed greedily, whatever the batch", "[evaluate]") {
  HumanEvalOptions options;
  options.max_new_tokens = 20;
  const std::vector<std::string> together = completions(options);
  REQUIRE(together.size() == 3);
  options.batch = 1;
  CHECK(completions(options) == together);
  GenerationOptions plain;
  plain.max_new_tokens = 20;
  plain.stop = humaneval_stop_strings();
  const auto pipeline = testing::tiny_pipeline(testing::small_engine());
  CHECK((*pipeline)(three_tasks()[1].prompt, plain).generations[0].text == together[1]);
}

TEST_CASE("a cancelled evaluation is an error", "[evaluate]") {
  const std::atomic<bool> cancel = true;
  HumanEvalOptions options;
  options.cancel = &cancel;
  CHECK(test::error_of([&] { (void)completions(options); }) == ErrorCode::cancelled);
}

TEST_CASE("a sample is one line of JSON", "[evaluate]") {
  CHECK(to_json_line({"HumanEval/0", "  return \"a\"\n"}) ==
        "{\"task_id\":\"HumanEval/0\",\"completion\":\"  return \\\"a\\\"\\n\"}\n");
}
