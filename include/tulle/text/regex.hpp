// SPDX-License-Identifier: Apache-2.0
/// \file Regular expressions in linear time (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/regex_parser.hpp>
#include <tulle/text/regex_program.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

/// A compiled pattern. The syntax is that of `detail::RegexParser`; the match is the one a backtracking engine finds
/// (leftmost, then the first alternative and the longest or shortest repetition as written), found by following all
/// alternatives in parallel in order of preference: Cox, "Regular Expression Matching: the Virtual Machine Approach".
/// Only the repetition of something that may be empty, such as (?:a??)*, can end elsewhere.
/// Complexity: a search takes O(code points visited * program); nothing is exponential.
/// Threads:    immutable; each thread brings its own `Scratch`.
class Regex {
 public:
  struct Match {
    std::size_t begin;
    std::size_t end;
  };

  /// Memory of a search, kept between searches. One Scratch serves any number of patterns.
  class Scratch {
    friend class Regex;
    struct Thread {
      std::size_t instruction;
      std::size_t begin;  // where its match would begin
    };
    std::vector<Thread> current_, next_;
    std::vector<std::size_t> pending_;       // branches of lower priority of the thread being followed
    std::vector<std::uint64_t> visited_at_;  // by instruction: the last step that visited it
    std::uint64_t step_ = 0;
  };

  /// Errors: unsupported or malformed; `where` names the file.
  Regex(std::string_view pattern, std::string_view where) : program_(detail::RegexParser(pattern, where).parse()) {}

  /// A pattern that matches this text and nothing else.
  static Regex literal(std::string_view text, std::string_view where) {
    std::string pattern;
    for (const char byte : text) {
      const bool is_special = std::string_view("\\|()[]{}?*+.^$").find(byte) != std::string_view::npos;
      if (is_special) pattern += '\\';
      pattern += byte;
    }
    Regex regex(pattern, where);
    regex.literal_ = text;
    return regex;
  }

  /// The first match that begins at or after `from`. Requires: valid UTF-8, `from` at a code point.
  std::optional<Match> search(std::string_view text, std::size_t from, Scratch& scratch) const {
    if (!literal_.empty()) {
      const std::size_t begin = text.find(literal_, from);
      return begin == std::string_view::npos ? std::nullopt : std::optional(Match{begin, begin + literal_.size()});
    }
    if (scratch.visited_at_.size() < program_.code.size()) scratch.visited_at_.resize(program_.code.size(), 0);
    scratch.current_.clear();
    std::optional<Match> best;
    for (std::size_t at = from;;) {
      const bool is_end = at == text.size();
      const Utf8Step step = is_end ? Utf8Step{} : decode_utf8(text, at);
      const Place place{text, at, is_end, step.code_point};
      ++scratch.step_;
      scratch.next_.clear();
      bool is_cut = false;  // a match was found: threads of lower priority are dropped
      for (const Scratch::Thread& thread : scratch.current_) {
        is_cut = follow(thread, place, scratch);
        if (!is_cut) continue;
        best = Match{thread.begin, at};
        break;
      }
      if (!is_cut && !best && follow({0, at}, place, scratch)) best = Match{at, at};
      if (is_end || (best && scratch.next_.empty())) return best;
      std::swap(scratch.current_, scratch.next_);
      at += step.length;
    }
  }

 private:
  struct Place {
    std::string_view text;
    std::size_t at;
    bool is_end;
    char32_t code_point;  // at `at`, unless is_end
  };

  /// Follows a thread and all its branches, in order, up to the instructions that consume; those that consume the code
  /// point go to next_. True when `match` was reached.
  bool follow(Scratch::Thread thread, const Place& place, Scratch& scratch) const {
    using Op = detail::RegexInstruction::Op;
    scratch.pending_.assign(1, thread.instruction);
    while (!scratch.pending_.empty()) {
      std::size_t at = scratch.pending_.back();
      scratch.pending_.pop_back();
      for (bool goes_on = true; goes_on && scratch.visited_at_[at] != scratch.step_;) {
        scratch.visited_at_[at] = scratch.step_;
        const detail::RegexInstruction& instruction = program_.code[at];
        switch (instruction.op) {
          case Op::consume:
            if (is_in(instruction.a, place)) scratch.next_.push_back({at + 1, thread.begin});
            goes_on = false;
            break;
          case Op::fork:
            scratch.pending_.push_back(at + static_cast<std::size_t>(instruction.b));
            at += static_cast<std::size_t>(instruction.a);
            break;
          case Op::jump: at += static_cast<std::size_t>(instruction.a); break;
          case Op::look:
            goes_on = is_in(instruction.a, place);
            ++at;
            break;
          case Op::look_not:
            goes_on = !is_in(instruction.a, place);
            ++at;
            break;
          case Op::line_begin:
            goes_on = place.at == 0 || (place.at < place.text.size() && place.text[place.at - 1] == '\n');
            ++at;
            break;
          case Op::text_begin:
            goes_on = place.at == 0;
            ++at;
            break;
          case Op::match: return true;
        }
      }
    }
    return false;
  }

  bool is_in(std::int32_t set, const Place& place) const {
    return !place.is_end && program_.sets[static_cast<std::size_t>(set)].contains(place.code_point);
  }

  detail::RegexProgram program_;
  std::string literal_;  // the text that the pattern is, if it is one
};

}  // namespace tulle
