// SPDX-License-Identifier: Apache-2.0
/// \file Normalization of text before it is split: a list of rewriting steps (L2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/text/nfc.hpp>
#include <tulle/text/regex.hpp>
#include <tulle/text/sentencepiece_normalizer.hpp>

namespace tulle {

/// Unicode Normalization Form C.
struct ComposeStep {};

/// Puts `content` in front of every text that is not empty.
struct PrependStep {
  std::string content;
};

/// Replaces every match of `pattern` by `content`, taken literally.
struct ReplaceStep {
  Regex pattern;
  std::string content;

  std::string apply(std::string_view text, Regex::Scratch& scratch) const {
    std::string result;
    result.reserve(text.size());
    std::size_t done = 0;
    std::optional<std::size_t> last_end;
    for (std::size_t at = 0; at <= text.size();) {
      const std::optional<Regex::Match> match = pattern.search(text, at, scratch);
      if (!match) break;
      const bool is_empty = match->begin == match->end;
      if (!is_empty || match->begin != last_end) {  // an empty match right behind another does not count
        result.append(text, done, match->begin - done).append(content);
        done = match->end;
        last_end = match->end;
      }
      at = match->end;
      if (!is_empty) continue;
      if (at == text.size()) break;
      at += decode_utf8(text, at).length;
    }
    return result.append(text, done);
  }
};

using NormalizerStep = std::variant<ComposeStep, PrependStep, ReplaceStep, SentencePieceNormalizer>;

/// The steps of tokenizer.json's "normalizer", in order, or sentencepiece's own. Threads: immutable.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  bool empty() const noexcept { return steps_.empty(); }

  /// True when any bytes are accepted, not only valid UTF-8.
  bool repairs() const noexcept {
    return !steps_.empty() && std::holds_alternative<SentencePieceNormalizer>(steps_.front());
  }

  /// Requires: valid UTF-8, unless it repairs.
  std::string apply(std::string text, Regex::Scratch& scratch) const {
    for (const NormalizerStep& step : steps_) {
      if (std::holds_alternative<ComposeStep>(step)) {
        text = nfc(text);
      } else if (const auto* prepend = std::get_if<PrependStep>(&step)) {
        if (!text.empty()) text.insert(0, prepend->content);
      } else if (const auto* whole = std::get_if<SentencePieceNormalizer>(&step)) {
        text = whole->apply(text);
      } else {
        text = std::get<ReplaceStep>(step).apply(text, scratch);
      }
    }
    return text;
  }

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace tulle
