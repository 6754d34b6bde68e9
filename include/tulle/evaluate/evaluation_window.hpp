// SPDX-License-Identifier: Apache-2.0
/// \file Pieces of text whose tokens are scored, and how their scores are averaged (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// Tokens that are read from an empty cache. Those from `first_target` on are scored, each by what came before it.
struct EvaluationWindow {
  std::vector<Token> tokens;
  std::size_t first_target = 1;  ///< at least 1: nothing predicts the first token
  double weight = 0;             ///< of its mean in the mean of all; 0: the number of its scored tokens

  std::size_t targets() const noexcept { return tokens.size() > first_target ? tokens.size() - first_target : 0; }
};

/// What a perplexity is an average of.
enum class Averaging : std::uint8_t {
  windows,  ///< exp of the mean over all scored tokens; its error from the spread of the windows
  tokens,   ///< the same, its error from the spread of the tokens, as llama.cpp prints it
  samples,  ///< the plain mean of each window's own perplexity, as SparseML and DeepSparse have it
};

struct EvaluationWindows {
  std::vector<EvaluationWindow> windows;
  Averaging averaging = Averaging::windows;
};

/// Windows whose tokens are all scored but the first.
inline EvaluationWindows whole_windows(std::vector<std::vector<Token>> sequences) {
  EvaluationWindows result;
  result.windows.reserve(sequences.size());
  for (std::vector<Token>& each : sequences) result.windows.push_back({.tokens = std::move(each)});
  return result;
}

/// The windows of Hugging Face's guide "Perplexity of fixed-length models": each begins `stride` tokens after the one
/// before and has at most `window` tokens; what the one before has scored is context. The guide weighs the mean of a
/// window by one token less than it scores, which is kept.
/// Errors: invalid_argument for a stride of 0 or above `window`.
inline EvaluationWindows strided_windows(std::span<const Token> tokens, std::size_t window, std::size_t stride) {
  if (stride == 0 || stride > window) {
    fail(ErrorCode::invalid_argument, "the stride must be from 1 to the window's ", window, " tokens, not ", stride);
  }
  EvaluationWindows result;
  std::size_t scored = 0;  // the end of what the windows so far have scored
  for (std::size_t begin = 0; begin < tokens.size() && scored < tokens.size(); begin += stride) {
    const std::size_t end = std::min(begin + window, tokens.size()), news = end - scored;
    scored = end;
    if (news < 2) continue;  // the guide's weight is 0
    const auto part = tokens.subspan(begin, end - begin);
    result.windows.push_back({.tokens = {part.begin(), part.end()},
                              .first_target = std::max<std::size_t>(part.size() - news, 1),
                              .weight = static_cast<double>(news - 1)});
  }
  return result;
}

/// The chunks of llama-perplexity: whole windows, of which the tokens behind the one in the middle are scored.
/// `bos`: replaces the first token of each, where the model begins texts with it; null: it stays.
inline EvaluationWindows half_scored_windows(std::span<const Token> tokens, std::size_t window, const Token* bos) {
  EvaluationWindows result;
  result.averaging = Averaging::tokens;
  for (std::size_t begin = 0; begin + window <= tokens.size(); begin += window) {
    const auto part = tokens.subspan(begin, window);
    result.windows.push_back({.tokens = {part.begin(), part.end()}, .first_target = window / 2 + 1});
    if (bos != nullptr) result.windows.back().tokens.front() = *bos;
  }
  return result;
}

}  // namespace tulle
