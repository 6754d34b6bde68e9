// SPDX-License-Identifier: Apache-2.0
#include "evaluate_tasks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tulle/core/error.hpp>
#include <tulle/evaluate/humaneval.hpp>
#include <tulle/evaluate/multiple_choice.hpp>
#include <tulle/evaluate/report.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/dataset/named_dataset.hpp>
#include <tulle/model/families.hpp>
#include <vector>

#include "new_file.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"

namespace {

/// A file that is written line by line.
class SampleFile {
 public:
  explicit SampleFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) tulle::fail(tulle::ErrorCode::io, "cannot create ", path, ": ", std::strerror(errno));
  }
  ~SampleFile() { std::fclose(file_); }
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  void append(const std::string& line) {
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0) {
      tulle::fail(tulle::ErrorCode::io, "cannot write ", path_, ": ", std::strerror(errno));
    }
  }

 private:
  std::string path_;
  std::FILE* file_;
};

}  // namespace

std::size_t context_length(const tulle::Checkpoint& checkpoint) {
  return tulle::describe_model(checkpoint.config(), checkpoint.path()).context_length;
}

nlohmann::ordered_json answer_questions(const EvaluateFlags& flags, const std::string& path) {
  const auto questions = tulle::read_choice_questions(flags.multiple_choice, flags.max_samples);
  ModelFlags model = flags.model;
  model.path = path;
  model.engine.max_sequences = 1;
  const auto pipeline = load_pipeline(model);
  ProgressBar bar;
  return tulle::report_json(tulle::evaluate_multiple_choice(pipeline->engine(), pipeline->tokenizer(), questions,
                                                            {.progress = bar.progress()}));
}

std::size_t write_completions(const EvaluateFlags& flags, const std::string& path) {
  (void)replaceable_path(flags.output, FileKind::json);  // written in place, so that every line counts at once
  const tulle::NamedDataset dataset = tulle::find_dataset(flags.humaneval);
  const std::vector<tulle::HumanEvalTask> tasks = tulle::read_humaneval(dataset.path, flags.max_samples);
  ModelFlags model = flags.model;
  model.path = path;
  tulle::HumanEvalOptions options;
  options.max_new_tokens = flags.max_new_tokens;
  options.batch = std::min(options.batch, tasks.size());
  model.engine.max_sequences = options.batch;
  const auto pipeline = load_pipeline(model);
  SampleFile file(flags.output);
  ProgressBar bar;
  options.progress = bar.progress();
  tulle::complete_humaneval(*pipeline, tasks, options,
                            [&](const tulle::HumanEvalSample& sample) { file.append(tulle::to_json_line(sample)); });
  return tasks.size();
}
