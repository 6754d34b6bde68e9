// SPDX-License-Identifier: Apache-2.0
/// \file Perplexity of a model, and its distance from another one (L5).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/types.hpp>
#include <tulle/evaluate/estimate.hpp>
#include <tulle/evaluate/evaluation_window.hpp>
#include <tulle/evaluate/window_reader.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/sampling/row_score.hpp>

namespace tulle {

/// Sums over the scored tokens of one window, in nats.
struct WindowScore {
  std::size_t tokens = 0;
  double nll = 0, nll_squares = 0;  ///< of negative log-likelihoods, and of their squares
  double weight = 0;                ///< of the window's mean
  double reference_nll = 0;         ///< with a reference: its negative log-likelihoods,
  double kl = 0;                    ///< KL(reference || model),
  std::size_t same_top = 0;         ///< and rows in which both have the same most probable token

  double mean_nll() const noexcept { return nll / static_cast<double>(tokens); }
};

/// A model beside the reference that it was made from.
struct Comparison {
  Estimate reference_perplexity, reference_mean_nll;
  Estimate perplexity_ratio;  ///< exp of the mean difference of negative log-likelihoods, its error from paired windows
  Estimate kl;                ///< nats a token
  Estimate same_top;          ///< share of the scored tokens
};

struct PerplexityResult {
  Estimate perplexity;
  Estimate mean_nll;       ///< nats a token, whatever the averaging of perplexity
  std::size_t tokens = 0;  ///< that were scored
  std::vector<WindowScore> windows;
  double seconds = 0;
  std::optional<Comparison> comparison;
};

struct PerplexityOptions {
  Engine* reference = nullptr;  ///< with the same vocabulary; read beside the model, window by window
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;  ///< set from any thread, ends the evaluation with an error
};

namespace detail {

/// Scores windows with one or two engines. Rows of logits are held for a piece of a window only.
class WindowScorer {
 public:
  WindowScorer(Engine& engine, Engine* reference, const std::atomic<bool>* cancel)
      : engine_(engine), reference_(reference), cancel_(cancel) {
    if (reference == nullptr) return;
    vocabulary_ = engine.architecture().vocabulary;
    if (reference->architecture().vocabulary != vocabulary_) {
      fail(ErrorCode::invalid_argument, "the reference has a vocabulary of ", reference->architecture().vocabulary,
           " tokens and the model one of ", vocabulary_, "; both must have the same tokenizer");
    }
    if (reference == &engine) fail(ErrorCode::invalid_argument, "the reference must have an engine of its own");
    rows_.resize(piece * vocabulary_);
  }

  WindowScore score(const EvaluationWindow& window) {
    WindowScore score;
    score.tokens = window.targets();
    score.weight = window.weight > 0 ? window.weight : static_cast<double>(score.tokens);
    const std::span<const Token> tokens = window.tokens;
    const std::span<const Token> context = tokens.first(window.first_target - 1);
    WindowReader reader(engine_, cancel_);
    std::optional<WindowReader> reference;
    reader.skip(context);
    if (reference_ != nullptr) reference.emplace(*reference_, cancel_).skip(context);
    // The last token has no successor, so it is not read.
    for (std::size_t at = window.first_target - 1; at + 1 < tokens.size(); at += piece) {
      const std::size_t count = std::min(piece, tokens.size() - 1 - at);
      const std::span<const Token> part = tokens.subspan(at, count), targets = tokens.subspan(at + 1, count);
      if (reference) read_reference(*reference, part, targets, score);
      reader.read(part, [&](std::size_t index, std::span<const float> logits) {
        const double nll = negative_log_likelihood(logits, targets[index]);
        score.nll += nll;
        score.nll_squares += nll * nll;
        if (reference_ == nullptr) return;
        const RowDivergence apart = divergence(row(index), logits);
        score.kl += apart.kl;
        score.same_top += apart.same_top;
      });
    }
    return score;
  }

 private:
  static constexpr std::size_t piece = 128;  // tokens whose logits are held at once

  std::span<float> row(std::size_t index) { return std::span(rows_).subspan(index * vocabulary_, vocabulary_); }

  void read_reference(WindowReader& reader, std::span<const Token> part, std::span<const Token> targets,
                      WindowScore& score) {
    reader.read(part, [&](std::size_t index, std::span<const float> logits) {
      score.reference_nll += negative_log_likelihood(logits, targets[index]);
      std::copy(logits.begin(), logits.end(), row(index).begin());
    });
  }

  Engine& engine_;
  Engine* reference_;
  const std::atomic<bool>* cancel_;
  std::size_t vocabulary_ = 0;
  std::vector<float> rows_;  // of the reference [piece, vocabulary]
};

/// The mean of what `value` gives for a window, over windows weighted by `weight`.
template <class Value, class Weight>
Estimate mean_of(std::span<const WindowScore> scores, Value&& value, Weight&& weight) {
  std::vector<double> values, weights;
  for (const WindowScore& score : scores) {
    values.push_back(value(score));
    weights.push_back(weight(score));
  }
  return weighted_mean(values, weights);
}

inline double tokens_of(const WindowScore& score) noexcept {
  return static_cast<double>(score.tokens);
}

inline double weight_of(const WindowScore& score) noexcept {
  return score.weight;
}

/// As llama.cpp has it: the error of a mean over independent tokens.
inline Estimate mean_over_tokens(std::span<const WindowScore> scores) {
  double sum = 0, squares = 0, count = 0;
  for (const WindowScore& score : scores) {
    sum += score.nll;
    squares += score.nll_squares;
    count += tokens_of(score);
  }
  const double mean = sum / count, variance = squares / count - mean * mean;
  return {mean, count > 1 && variance > 0 ? std::sqrt(variance / (count - 1)) : 0};
}

/// Perplexity and mean from each window's sum of negative log-likelihoods.
template <class Sum>
std::pair<Estimate, Estimate> perplexity_of(std::span<const WindowScore> scores, Averaging averaging, Sum&& sum) {
  const auto mean = [&](const WindowScore& score) { return sum(score) / tokens_of(score); };
  const Estimate nll = mean_of(scores, mean, weight_of);
  if (averaging != Averaging::samples) return {exponential(nll), nll};
  const auto one = [](const WindowScore&) { return 1.0; };
  return {mean_of(scores, [&](const WindowScore& score) { return std::exp(mean(score)); }, one), nll};
}

inline Comparison comparison_of(std::span<const WindowScore> scores, Averaging averaging) {
  Comparison result;
  const auto reference = perplexity_of(scores, averaging, [](const WindowScore& each) { return each.reference_nll; });
  result.reference_perplexity = reference.first;
  result.reference_mean_nll = reference.second;
  const auto difference = [](const WindowScore& each) { return (each.nll - each.reference_nll) / tokens_of(each); };
  result.perplexity_ratio = exponential(mean_of(scores, difference, weight_of));
  result.kl = mean_of(scores, [](const WindowScore& each) { return each.kl / tokens_of(each); }, tokens_of);
  const auto same = [](const WindowScore& each) { return static_cast<double>(each.same_top) / tokens_of(each); };
  result.same_top = mean_of(scores, same, tokens_of);
  return result;
}

}  // namespace detail

/// Averages scores, which are at least one, each of at least one token.
inline PerplexityResult perplexity_result(std::vector<WindowScore> scores, Averaging averaging, bool with_reference) {
  PerplexityResult result;
  std::tie(result.perplexity, result.mean_nll) =
      detail::perplexity_of(scores, averaging, [](const WindowScore& each) { return each.nll; });
  if (averaging == Averaging::tokens) {
    result.mean_nll.standard_error = detail::mean_over_tokens(scores).standard_error;
    result.perplexity = exponential(result.mean_nll);
  }
  for (const WindowScore& each : scores) result.tokens += each.tokens;
  if (with_reference) result.comparison = detail::comparison_of(scores, averaging);
  result.windows = std::move(scores);
  return result;
}

/// Scores `windows` with the model of `engine`, and with that of `options.reference` if there is one. Windows without a
/// scored token are left out. The result does not depend on threads or on the engine's chunk.
/// Errors: invalid_argument where nothing is scored, for tokens outside the vocabulary and for a reference of another
/// one; capacity for a window that is longer than the engine's sequence length; cancelled.
inline PerplexityResult evaluate_perplexity(Engine& engine, const EvaluationWindows& windows,
                                            const PerplexityOptions& options = {}) {
  const auto begin = std::chrono::steady_clock::now();
  detail::WindowScorer scorer(engine, options.reference, options.cancel);
  std::vector<WindowScore> scores;
  for (std::size_t i = 0; i < windows.windows.size(); ++i) {
    if (options.progress) {
      options.progress("evaluate", static_cast<double>(i) / static_cast<double>(windows.windows.size()));
    }
    if (windows.windows[i].targets() > 0) scores.push_back(scorer.score(windows.windows[i]));
  }
  if (scores.empty()) {
    fail(ErrorCode::invalid_argument, "there is nothing to score: no piece of text has two tokens or more");
  }
  PerplexityResult result = perplexity_result(std::move(scores), windows.averaging, options.reference != nullptr);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

/// Scores all tokens of each sequence but the first.
inline PerplexityResult evaluate_perplexity(Engine& engine, std::vector<std::vector<Token>> sequences,
                                            const PerplexityOptions& options = {}) {
  return evaluate_perplexity(engine, whole_windows(std::move(sequences)), options);
}

}  // namespace tulle
