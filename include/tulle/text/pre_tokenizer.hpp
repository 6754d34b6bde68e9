// SPDX-License-Identifier: Apache-2.0
/// \file Splits text into the words that byte-pair encoding works on (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/text/byte_level.hpp>
#include <tulle/text/regex.hpp>

namespace tulle {

/// What is done with the matches of a split: Hugging Face's `SplitDelimiterBehavior`.
enum class SplitBehavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Cuts at the matches of a pattern; `invert` exchanges the matches and what is between them.
struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};

/// Prepends `content` to a piece that does not begin with it.
struct PrefixStep {
  std::string content;
  bool only_first = false;  ///< only for the first piece of the whole text
};

/// Rewrites every byte as a character of the byte alphabet.
struct ByteLevelStep {};

/// Replaces every ' ' by `content`.
struct SpaceStep {
  std::string content;
};

using PreTokenizerStep = std::variant<SplitStep, PrefixStep, SpaceStep, ByteLevelStep>;

/// The regular expression of GPT-2's byte-level pre-tokenizer (Radford et al. 2019, encoder.py).
inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The steps of tokenizer.json's "pre_tokenizer", each applied to every piece of the one before. Threads: immutable.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  /// Calls `sink(word)` for every word from left to right; none is empty, and a word is valid only during the call.
  /// `at_start`: the whole text begins with `text`. Requires: valid UTF-8.
  template <class Sink>
  void split(std::string_view text, bool at_start, Regex::Scratch& scratch, Sink&& sink) const {
    apply(0, text, at_start, scratch, sink);
  }

 private:
  struct Segment {
    std::size_t begin, end;
    bool is_match;
  };

  template <class Sink>
  void apply(std::size_t step, std::string_view piece, bool at_start, Regex::Scratch& scratch, Sink& sink) const {
    if (piece.empty()) return;
    if (step == steps_.size()) {
      sink(piece);
      return;
    }
    const PreTokenizerStep& current = steps_[step];
    if (const auto* split = std::get_if<SplitStep>(&current)) {
      for (const Segment& segment : segments(*split, piece, scratch)) {
        const std::string_view part = piece.substr(segment.begin, segment.end - segment.begin);
        apply(step + 1, part, at_start && segment.begin == 0, scratch, sink);
      }
    } else if (const auto* prefix = std::get_if<PrefixStep>(&current)) {
      const bool is_wanted = (at_start || !prefix->only_first) && !piece.starts_with(prefix->content);
      if (!is_wanted) return apply(step + 1, piece, at_start, scratch, sink);
      apply(step + 1, prefix->content + std::string(piece), at_start, scratch, sink);
    } else if (const auto* space = std::get_if<SpaceStep>(&current)) {
      std::string replaced;
      for (const char byte : piece) byte == ' ' ? replaced += space->content : replaced += byte;
      apply(step + 1, replaced, at_start, scratch, sink);
    } else {
      apply(step + 1, to_byte_level(piece), at_start, scratch, sink);
    }
  }

  /// The parts of `text` that stay, after the behavior; those of empty matches are empty.
  static std::vector<Segment> segments(const SplitStep& step, std::string_view text, Regex::Scratch& scratch) {
    std::vector<Segment> all;
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::optional<Regex::Match> match = step.pattern.search(text, at, scratch);
      if (!match) break;
      const bool is_empty = match->begin == match->end;
      if (!is_empty || all.empty() || match->begin != all.back().end) {
        if (match->begin > done) all.push_back({done, match->begin, step.invert});
        all.push_back({match->begin, match->end, !step.invert});
        done = match->end;
      }
      at = match->end;
      if (!is_empty) continue;
      if (at == text.size()) break;
      at += decode_utf8(text, at).length;  // an empty match only cuts, and not right behind another match
    }
    if (done < text.size()) all.push_back({done, text.size(), step.invert});
    return merged(std::move(all), step.behavior);
  }

  static std::vector<Segment> merged(std::vector<Segment> all, SplitBehavior behavior) {
    if (behavior == SplitBehavior::isolated) return all;
    if (behavior == SplitBehavior::removed) {
      std::erase_if(all, [](const Segment& segment) { return segment.is_match; });
      return all;
    }
    std::vector<Segment> result;
    for (std::size_t index = 0; index < all.size(); ++index) {
      // Is this segment joined with the segment on its left?
      bool joins = false;
      if (index > 0) {
        const bool is_match = all[index].is_match;
        const bool was_match = all[index - 1].is_match;
        joins = behavior == SplitBehavior::contiguous             ? is_match == was_match
                : behavior == SplitBehavior::merged_with_previous ? is_match && !was_match
                                                                  : !is_match && was_match;
      }
      if (joins) {
        result.back().end = all[index].end;
      } else {
        result.push_back(all[index]);
      }
    }
    return result;
  }

  std::vector<PreTokenizerStep> steps_;
};

}  // namespace tulle
