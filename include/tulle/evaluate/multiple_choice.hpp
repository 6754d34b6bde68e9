// SPDX-License-Identifier: Apache-2.0
/// \file Multiple choice by log-likelihood (L5).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/types.hpp>
#include <tulle/evaluate/choice_question.hpp>
#include <tulle/evaluate/dataset_windows.hpp>
#include <tulle/evaluate/estimate.hpp>
#include <tulle/evaluate/window_reader.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/sampling/row_score.hpp>
#include <tulle/text/tokenizer.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

struct ChoiceResult {
  std::vector<double> log_likelihoods;  ///< [choices], nats, of each choice's tokens after the context
  std::size_t chosen = 0;               ///< the one of the largest log-likelihood
  std::size_t chosen_per_letter = 0;    ///< the one of the largest log-likelihood over its number of code points
  std::size_t answer = 0;
};

struct MultipleChoiceResult {
  Estimate accuracy;
  Estimate accuracy_per_letter;  ///< "acc_norm" of lm-evaluation-harness
  std::vector<ChoiceResult> questions;
  double seconds = 0;
};

struct MultipleChoiceOptions {
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;
};

namespace detail {

struct ChoiceTokens {
  std::vector<Token> tokens;
  std::size_t first_target = 0;
};

/// A space stands between context and choice, unless one of them brings white space. White space at the end of the
/// context counts to the choice. The choice's tokens are those of the whole text behind as many as the context alone has
/// (lm-evaluation-harness, `_encode_pair`).
inline ChoiceTokens choice_tokens(const Tokenizer& tokenizer, std::string_view context, std::string_view choice) {
  constexpr std::string_view white = " \t\r\n";
  const std::size_t end = context.find_last_not_of(white) + 1;  // 0 where there is none
  std::string continuation(context.substr(end));
  const bool apart = continuation.empty() && end > 0 && choice.find_first_of(white) != 0;
  continuation += (apart ? " " : "") + std::string(choice);
  context = context.substr(0, end);
  ChoiceTokens result;
  if (const std::optional<Token> bos = leading_bos(tokenizer)) result.tokens.push_back(*bos);
  const std::vector<Token> before = tokenizer.encode(context),
                           all = tokenizer.encode(std::string(context) + continuation);
  if (result.tokens.empty() && before.empty()) {
    const std::optional<Token> first = tokenizer.bos_token() ? tokenizer.bos_token() : tokenizer.eos_token();
    if (!first)
      fail(ErrorCode::unsupported, "a question without context needs a BOS token, and the tokenizer has none");
    result.tokens.push_back(*first);
  }
  result.first_target = result.tokens.size() + before.size();
  result.tokens.insert(result.tokens.end(), all.begin(), all.end());
  if (choice.empty() || result.tokens.size() <= result.first_target) {
    fail(ErrorCode::invalid_argument, "the choice \"", choice, "\" has no tokens of its own");
  }
  return result;
}

inline std::size_t code_points(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += decode_utf8(text, at).length) ++count;
  return count;
}

/// The log-likelihood of every choice; what the choices share is read once.
inline std::vector<double> choice_log_likelihoods(Engine& engine, const std::vector<ChoiceTokens>& choices,
                                                  const std::atomic<bool>* cancel) {
  std::size_t shared = choices.front().first_target - 1;
  for (const ChoiceTokens& each : choices) {
    const auto differs = std::mismatch(each.tokens.begin(), each.tokens.end(), choices.front().tokens.begin(),
                                       choices.front().tokens.end());
    shared = std::min({shared, each.first_target - 1, static_cast<std::size_t>(differs.first - each.tokens.begin())});
  }
  WindowReader reader(engine, cancel);
  reader.skip(std::span(choices.front().tokens).first(shared));
  std::vector<double> result;
  for (const ChoiceTokens& each : choices) {
    reader.truncate(shared);
    const std::span<const Token> tokens(each.tokens);
    reader.skip(tokens.subspan(shared, each.first_target - 1 - shared));
    const std::span<const Token> targets = tokens.subspan(each.first_target);
    double sum = 0;
    reader.read(tokens.subspan(each.first_target - 1, targets.size()),
                [&](std::size_t index, std::span<const float> logits) {
                  sum -= negative_log_likelihood(logits, targets[index]);
                });
    result.push_back(sum);
  }
  return result;
}

/// Of all choices. Errors: as `evaluate_multiple_choice` has them; messages name the question.
inline std::vector<ChoiceTokens> question_tokens(Engine& engine, const Tokenizer& tokenizer,
                                                 const ChoiceQuestion& question, const std::string& name) {
  std::vector<ChoiceTokens> choices;
  try {
    for (const std::string& choice : question.choices) {
      choices.push_back(choice_tokens(tokenizer, question.context, choice));
      engine.sequences().check({}, choices.back().tokens.size() - 1);
    }
  } catch (const Error& error) {
    fail(error.code(), name, ": ", error.what());
  }
  return choices;
}

inline ChoiceResult answer_question(Engine& engine, const ChoiceQuestion& question,
                                    const std::vector<ChoiceTokens>& choices, const std::atomic<bool>* cancel) {
  std::vector<double> per_letter;
  ChoiceResult result;
  result.answer = question.answer;
  result.log_likelihoods = choice_log_likelihoods(engine, choices, cancel);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    per_letter.push_back(result.log_likelihoods[i] / static_cast<double>(code_points(question.choices[i])));
  }
  const auto largest = [](const std::vector<double>& values) {
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  };
  result.chosen = largest(result.log_likelihoods);
  result.chosen_per_letter = largest(per_letter);
  return result;
}

}  // namespace detail

/// Answers questions with the choice that the model gives the largest log-likelihood.
/// Errors: capacity for a question that is longer than the engine's sequence length and invalid_argument for a choice
/// without tokens, both before the first is answered; cancelled.
inline MultipleChoiceResult evaluate_multiple_choice(Engine& engine, const Tokenizer& tokenizer,
                                                     std::span<const ChoiceQuestion> questions,
                                                     const MultipleChoiceOptions& options = {}) {
  const auto begin = std::chrono::steady_clock::now();
  MultipleChoiceResult result;
  std::size_t right = 0, right_per_letter = 0;
  std::vector<std::vector<detail::ChoiceTokens>> choices;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    choices.push_back(
        detail::question_tokens(engine, tokenizer, questions[i],
                                "question " + std::to_string(i + 1) + " of " + std::to_string(questions.size())));
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (options.progress) options.progress("evaluate", static_cast<double>(i) / static_cast<double>(questions.size()));
    ChoiceResult answered = detail::answer_question(engine, questions[i], choices[i], options.cancel);
    right += answered.chosen == answered.answer;
    right_per_letter += answered.chosen_per_letter == answered.answer;
    result.questions.push_back(std::move(answered));
  }
  result.accuracy = share(right, questions.size());
  result.accuracy_per_letter = share(right_per_letter, questions.size());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tulle
