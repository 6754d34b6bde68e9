// SPDX-License-Identifier: Apache-2.0
/// \file Drafts from a text that the user expects (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/generate/draft/ngram_drafter.hpp>
#include <tulle/generate/draft/suffix_automaton.hpp>
#include <tulle/generate/drafter.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle {

/// Copies a prediction of the text (the file before an edit, last week's report). Where the text leaves it, drafts begin
/// again behind the place of the prediction that the end of the text repeats.
class PredictionDrafter {
 public:
  static constexpr bool is_free = true;

  explicit PredictionDrafter(std::span<const Token> prediction) {
    for (const Token token : prediction) prediction_.push(token);
  }

  template <class SamplerType>
  void begin(Draft<SamplerType>& draft) {
    if (draft.sequence >= texts_.size()) texts_.resize(draft.sequence + std::size_t{1});
    Text& text = texts_[draft.sequence];
    const std::span<const Token> generated = draft.context.generated();
    const bool goes_on =
        text.tokens.size() <= generated.size() && std::equal(text.tokens.begin(), text.tokens.end(), generated.begin());
    if (!goes_on) text = {};
    for (const Token token : generated.subspan(text.tokens.size())) text.push(token, prediction_);
    draft.ended = text.next >= prediction_.tokens().size();
  }

  template <class SamplerType>
  void extend(std::span<Draft<SamplerType>* const> drafts) {
    for (Draft<SamplerType>* draft : drafts) {
      const Text& text = texts_[draft->sequence];
      const std::size_t drafted = draft->tokens.size(), next = text.next + drafted;
      const Token token = prediction_.tokens()[next];
      if (token < 0 || static_cast<std::size_t>(token) >= draft->vocabulary) {
        draft->ended = true;
        continue;
      }
      draft->add(token, detail::copied_confidence(text.right + drafted));
      draft->ended = draft->ended || next + 1 == prediction_.tokens().size();
    }
  }

  template <class SamplerType>
  void end(Draft<SamplerType>&) noexcept {}

 private:
  /// What was generated, and where in the prediction it goes on.
  struct Text {
    std::vector<Token> tokens;
    SuffixAutomaton::Walk walk;
    std::size_t next = 0;   // in the prediction; its size: nowhere
    std::size_t right = 4;  // tokens that the prediction and the text have in common before it

    void push(Token token, const SuffixAutomaton& prediction) {
      tokens.push_back(token);
      prediction.follow(walk, token);
      if (next < prediction.tokens().size() && prediction.tokens()[next] == token) {
        ++next;
        ++right;
      } else {
        const SuffixAutomaton::Match match = prediction.match(walk);
        next = match.length == 0 ? prediction.tokens().size() : match.next;
        right = match.length;
      }
    }
  };

  SuffixAutomaton prediction_;
  std::vector<Text> texts_;  // [sequences]
};

static_assert(Drafter<PredictionDrafter, SamplerChain>);

}  // namespace tulle
