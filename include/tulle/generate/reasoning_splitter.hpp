// SPDX-License-Identifier: Apache-2.0
/// \file What a model thinks before it answers, apart from the answer (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tulle {

/// Cuts "<think>...</think>answer" (DeepSeek-R1, Qwen3, SmolLM3) in two, a piece of text at a time. Only a block at the
/// beginning of the text is one; the white space around it belongs to neither part.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning, answer;
  };

  /// `inside`: the prompt ends with the opening mark, so the text begins within the block.
  explicit ReasoningSplitter(bool inside = false) noexcept : state_(inside ? State::reasoning : State::before) {}

  /// What is known of the next piece. The beginning of a mark is held back until it is known what it is.
  Parts next(std::string_view piece) {
    held_ += piece;
    Parts parts;
    while (step(parts)) {
    }
    return parts;
  }

  /// What was held back when the text ended.
  Parts finish() {
    Parts parts;
    (state_ == State::reasoning ? parts.reasoning : parts.answer) = std::move(held_);
    held_.clear();
    return parts;
  }

 private:
  enum class State { before, reasoning, between, answer };
  static constexpr std::string_view opening = "<think>", closing = "</think>", space = " \t\r\n";

  /// Whether more of what is held may be given out.
  bool step(Parts& parts) {
    if (state_ == State::answer) {
      parts.answer += held_;
      held_.clear();
      return false;
    }
    if (state_ == State::reasoning) return step_reasoning(parts);
    const std::size_t begin = std::min(held_.find_first_not_of(space), held_.size());
    if (begin == held_.size()) {
      if (state_ == State::between) held_.clear();
      return false;
    }
    const std::string_view rest = std::string_view(held_).substr(begin);
    if (state_ == State::before && rest.size() < opening.size() && opening.starts_with(rest)) return false;
    if (state_ == State::before && rest.starts_with(opening)) {
      held_.erase(0, begin + opening.size());
      state_ = State::reasoning;
      return true;
    }
    if (state_ == State::between) held_.erase(0, begin);
    state_ = State::answer;
    return true;
  }

  bool step_reasoning(Parts& parts) {
    if (!began_) {
      held_.erase(0, std::min(held_.find_first_not_of(space), held_.size()));
      began_ = !held_.empty();
    }
    const std::size_t end = held_.find(closing);
    if (end != std::string::npos) {
      parts.reasoning += without_end(std::string_view(held_).substr(0, end));
      held_.erase(0, end + closing.size());
      state_ = State::between;
      return true;
    }
    // All but what may be white space before the mark, and the mark's beginning.
    std::size_t kept = std::min(held_.size(), closing.size() - 1);
    while (kept > 0 && !closing.starts_with(std::string_view(held_).substr(held_.size() - kept))) --kept;
    const std::size_t given = without_end(std::string_view(held_).substr(0, held_.size() - kept)).size();
    parts.reasoning += held_.substr(0, given);
    held_.erase(0, given);
    return false;
  }

  static std::string_view without_end(std::string_view text) noexcept {
    const std::size_t last = text.find_last_not_of(space);
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  }

  State state_;
  bool began_ = false;  // a reasoning that is more than white space
  std::string held_;
};

}  // namespace tulle
