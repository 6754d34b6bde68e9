// SPDX-License-Identifier: Apache-2.0
/// \file What a model thinks before it answers, apart from the answer (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tulle {

/// How a model marks what it thinks.
enum class ReasoningFormat : std::uint8_t {
  think,  ///< <think>...</think>, before an answer or <response>answer</response>: DeepSeek-R1, Qwen3, SmolLM3, Granite 3.3
  brackets,  ///< [THINK]...[/THINK], before an answer and </s>, all special tokens: Ministral, Magistral
  channels   ///< <|channel|>analysis<|message|>...<|end|>, then a channel "final", all special tokens: gpt-oss
};

/// The format that a chat template knows; `think` for one that knows none.
inline ReasoningFormat reasoning_format(std::string_view chat_template) noexcept {
  if (chat_template.find("<|channel|>") != std::string_view::npos) return ReasoningFormat::channels;
  if (chat_template.find("[THINK]") != std::string_view::npos) return ReasoningFormat::brackets;
  return ReasoningFormat::think;
}

/// Whether the marks are special tokens, which a text has only where they are not skipped.
inline bool has_special_marks(ReasoningFormat format) noexcept {
  return format != ReasoningFormat::think;
}

/// The mark in front of what a model thinks.
inline std::string_view reasoning_opening(ReasoningFormat format) noexcept {
  static constexpr std::string_view marks[] = {"<think>", "[THINK]", "<|channel|>"};
  return marks[static_cast<std::size_t>(format)];
}

/// Cuts a model's text in two, a piece at a time. Only a block at the beginning of the text is a reasoning; the white
/// space around it belongs to neither part. Channels may follow each other: all but "analysis" are the answer.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning, answer;
  };

  /// `inside`: the prompt ends with the opening mark, so the text begins within the block.
  explicit ReasoningSplitter(ReasoningFormat format = ReasoningFormat::think, bool inside = false) noexcept
      : format_(format), state_(inside ? State::reasoning : State::before) {}

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
    if (state_ != State::header) (state_ == State::reasoning ? parts.reasoning : parts.answer) = std::move(held_);
    held_.clear();
    return parts;
  }

 private:
  enum class State { before, header, reasoning, between, answer };
  static constexpr std::string_view space = " \t\r\n", wrapping = "<response>";

  /// Whether more of what is held may be given out.
  bool step(Parts& parts) {
    switch (state_) {
      case State::before: return step_before();
      case State::header: return step_header(parts);
      case State::reasoning: return step_reasoning(parts);
      case State::between: return step_between();
      case State::answer: break;
    }
    if (!take_before(answer_ends(), parts.answer)) return false;
    wrapped_ = false;
    if (format_ == ReasoningFormat::channels) state_ = State::header;
    return true;
  }

  /// Drops `mark` from the beginning of what is held, with the white space before it; `unsure` where that may be its
  /// beginning.
  bool drop(std::string_view mark, bool& unsure) {
    const std::size_t begin = std::min(held_.find_first_not_of(space), held_.size());
    const std::string_view rest = std::string_view(held_).substr(begin);
    unsure = rest.size() < mark.size() && mark.starts_with(rest);
    if (!rest.starts_with(mark)) return false;
    held_.erase(0, begin + mark.size());
    return true;
  }

  bool step_before() {
    bool unsure = false;
    const bool opened = drop(reasoning_opening(format_), unsure);
    if (unsure) return false;
    state_ = !opened ? State::answer : format_ == ReasoningFormat::channels ? State::header : State::reasoning;
    return true;
  }

  /// A channel's name, and between two channels also <|start|> and the role.
  bool step_header(Parts& parts) {
    static constexpr std::string_view channel = "<|channel|>", message = "<|message|>";
    const std::size_t end = held_.find(message);
    if (end == std::string::npos) return false;
    std::string_view header = std::string_view(held_).substr(0, end);
    if (const std::size_t at = header.rfind(channel); at != header.npos) header.remove_prefix(at + channel.size());
    const bool thinks = header.starts_with("analysis");
    state_ = thinks ? State::reasoning : State::answer;
    held_.erase(0, end + message.size());
    if (thinks && std::exchange(began_, false)) parts.reasoning += '\n';
    return true;
  }

  bool step_reasoning(Parts& parts) {
    if (!began_) {
      held_.erase(0, std::min(held_.find_first_not_of(space), held_.size()));
      began_ = !held_.empty();
    }
    if (!take_before(reasoning_ends(), parts.reasoning)) return false;
    state_ = format_ == ReasoningFormat::channels ? State::header : State::between;
    return true;
  }

  bool step_between() {
    held_.erase(0, std::min(held_.find_first_not_of(space), held_.size()));
    if (held_.empty()) return false;
    bool unsure = false;
    if (format_ == ReasoningFormat::think && !wrapped_ && drop(wrapping, unsure)) {
      wrapped_ = true;
      return true;
    }
    if (unsure) return false;
    state_ = State::answer;
    return true;
  }

  using Marks = std::span<const std::string_view>;
  static constexpr std::string_view channel_ends[] = {"<|end|>", "<|return|>", "<|call|>", "<|start|>"};

  Marks reasoning_ends() const noexcept {
    static constexpr std::string_view think[] = {"</think>"}, brackets[] = {"[/THINK]"};
    if (format_ == ReasoningFormat::channels) return channel_ends;
    return format_ == ReasoningFormat::think ? think : brackets;
  }

  Marks answer_ends() const noexcept {
    static constexpr std::string_view wrapped[] = {"</response>"}, brackets[] = {"</s>"};
    if (format_ == ReasoningFormat::channels) return channel_ends;
    if (format_ == ReasoningFormat::brackets) return brackets;
    return wrapped_ ? Marks(wrapped) : Marks();
  }

  /// Gives out what stands before the first mark, without white space at its end, and drops the mark; false where there
  /// is none yet. Then all is given out but what may be the beginning of a mark, and the white space before it.
  bool take_before(Marks marks, std::string& out) {
    std::size_t end = std::string::npos, size = 0, kept = 0;
    for (const std::string_view mark : marks) {
      if (const std::size_t found = held_.find(mark); found < end) end = found, size = mark.size();
      std::size_t begun = std::min(held_.size(), mark.size() - 1);
      while (begun > kept && !mark.starts_with(std::string_view(held_).substr(held_.size() - begun))) --begun;
      kept = std::max(kept, begun);
    }
    std::string_view given = std::string_view(held_).substr(0, std::min(end, held_.size() - kept));
    if (!marks.empty()) given = given.substr(0, given.find_last_not_of(space) + 1);  // 0 where all is white space
    out += given;
    held_.erase(0, end == std::string::npos ? given.size() : end + size);
    return end != std::string::npos;
  }

  ReasoningFormat format_;
  State state_;
  bool began_ = false;    // a reasoning that is more than white space
  bool wrapped_ = false;  // the answer stands in <response>
  std::string held_;
};

}  // namespace tulle
