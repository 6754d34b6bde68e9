// SPDX-License-Identifier: Apache-2.0
/// \file The tasks of `tulle evaluate` apart from perplexity.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/json.hpp>

#include "evaluate_flags.hpp"

namespace tulle {
class Checkpoint;
}

/// Tokens of a model's context.
std::size_t context_length(const tulle::Checkpoint& checkpoint);

/// Multiple choice: the results of the model at `path`.
nlohmann::ordered_json answer_questions(const EvaluateFlags& flags, const std::string& path);

/// HumanEval: writes a line for every task as soon as it is completed. Returns their number.
std::size_t write_completions(const EvaluateFlags& flags, const std::string& path);
