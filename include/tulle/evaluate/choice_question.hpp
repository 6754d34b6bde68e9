// SPDX-License-Identifier: Apache-2.0
/// \file Multiple-choice questions out of a JSON file (L5).
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/dataset/read_dataset.hpp>

namespace tulle {

struct ChoiceQuestion {
  std::string context;               ///< what stands before every choice; may be empty
  std::vector<std::string> choices;  ///< at least two
  std::size_t answer = 0;            ///< the right one
};

namespace detail {

/// The member of the first of `keys` that an object has; null without any.
template <std::size_t Count>
const Json* first_member(const Json& object, const std::array<const char*, Count>& keys) {
  for (const char* key : keys) {
    if (const auto found = object.find(key); found != object.end()) return &*found;
  }
  return nullptr;
}

/// A number from 0, the same as text, a label of the choices, or a letter: "A" is the first.
inline std::optional<std::size_t> answer_index(const Json& answer, const std::vector<std::string>& labels) {
  if (answer.is_number_unsigned()) return answer.get<std::size_t>();
  if (!answer.is_string()) return std::nullopt;
  const auto& text = answer.get_ref<const std::string&>();
  const auto label = std::find(labels.begin(), labels.end(), text);
  if (label != labels.end()) return static_cast<std::size_t>(label - labels.begin());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  if (text.size() == 1 && text[0] >= 'A' && text[0] <= 'Z') return static_cast<std::size_t>(text[0] - 'A');
  return std::nullopt;
}

inline ChoiceQuestion choice_question(const Json& object, const std::string& where) {
  constexpr std::array context_keys{"context", "question", "query", "prompt", "ctx"};
  constexpr std::array choice_keys{"choices", "endings", "options"};
  constexpr std::array answer_keys{"answer", "gold", "label", "answerKey"};
  const Json* context = first_member(object, context_keys);
  const Json* choices = first_member(object, choice_keys);
  const Json* answer = first_member(object, answer_keys);
  if (context == nullptr || choices == nullptr || answer == nullptr) {
    fail(ErrorCode::malformed, where, ": a question needs \"context\", \"choices\" and \"answer\"");
  }
  std::vector<std::string> labels;
  if (choices->is_object()) {  // {"text": [...], "label": [...]}
    labels = json_value(*choices, "label", labels, where);
    choices = first_member(*choices, std::array{"text"});
  }
  ChoiceQuestion question;
  const bool are_texts = choices != nullptr && json_fits<std::vector<std::string>>(*choices);
  if (!context->is_string() || !are_texts || choices->size() < 2) {
    fail(ErrorCode::malformed, where, ": \"context\" must be a text and \"choices\" a list of two texts or more");
  }
  question.context = context->get<std::string>();
  question.choices = choices->get<std::vector<std::string>>();
  const std::optional<std::size_t> index = answer_index(*answer, labels);
  if (!index || *index >= question.choices.size()) {
    fail(ErrorCode::malformed, where, ": \"answer\" must be the number of one of the ", question.choices.size(),
         " choices, from 0, or its letter");
  }
  question.answer = *index;
  return question;
}

}  // namespace detail

/// The first questions of a .json or .jsonl file; at most `max_questions`, 0: all. A question is an object with
/// "context" (or "question", "query", "prompt", "ctx"), "choices" (or "endings", "options"; a list of texts, or an
/// object of lists "text" and "label") and "answer" (or "gold", "label", "answerKey": a number from 0, a label or a
/// letter). Errors: those of `read_dataset_objects`; malformed with the row; invalid_argument where there is none.
inline std::vector<ChoiceQuestion> read_choice_questions(const std::string& path, std::size_t max_questions = 0) {
  std::vector<ChoiceQuestion> questions;
  for (const DatasetObject& row : read_dataset_objects(path, max_questions)) {
    questions.push_back(detail::choice_question(row.object, row.where));
  }
  if (questions.empty()) fail(ErrorCode::invalid_argument, path, ": the file holds no question");
  return questions;
}

}  // namespace tulle
