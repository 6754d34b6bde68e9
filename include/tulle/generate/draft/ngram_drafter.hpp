// SPDX-License-Identifier: Apache-2.0
/// \file Drafts copied from where the end of the text has occurred before: prompt lookup (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/generate/draft/suffix_automaton.hpp>
#include <tulle/generate/drafter.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle {

namespace detail {

/// How sure a token is that follows `length` tokens which occurred before.
constexpr float copied_confidence(std::size_t length) noexcept {
  return 1 - 1 / (1 + static_cast<float>(length));
}

}  // namespace detail

/// Copies what followed the longest end of prompt and text that occurs earlier in them (Saxena, "Prompt Lookup
/// Decoding", 2023, with ends of any length). Costs no forward pass: it pays where a text repeats its prompt
/// (summaries, edits, quotes), and drafts nothing where nothing is repeated.
class NgramDrafter {
 public:
  static constexpr bool is_free = true;

  /// `min_match`: tokens that must be repeated before what follows is copied.
  explicit NgramDrafter(std::size_t min_match = 2) : min_match_(min_match) {}

  template <class SamplerType>
  void begin(Draft<SamplerType>& draft) {
    if (draft.sequence >= texts_.size()) texts_.resize(draft.sequence + std::size_t{1});
    SuffixAutomaton& text = texts_[draft.sequence];
    const std::span<const Token> history = draft.context.history, known = text.tokens();
    if (known.size() > history.size() || !std::equal(known.begin(), known.end(), history.begin())) text.clear();
    for (const Token token : history.subspan(text.tokens().size())) text.push(token);
    draft.ended = text.repeated().length < min_match_;
  }

  template <class SamplerType>
  void extend(std::span<Draft<SamplerType>* const> drafts) {
    for (Draft<SamplerType>* draft : drafts) {
      const std::span<const Token> text = texts_[draft->sequence].tokens();
      const SuffixAutomaton::Match& match = texts_[draft->sequence].repeated();
      const std::size_t drafted = draft->tokens.size(), next = match.next + drafted;
      // The copy goes on into the draft itself where the text repeats itself without a break.
      const Token token = next < text.size() ? text[next] : draft->tokens[next - text.size()];
      draft->add(token, detail::copied_confidence(match.length + drafted));
      draft->ended = draft->ended || std::find(draft->eos.begin(), draft->eos.end(), token) != draft->eos.end();
    }
  }

  template <class SamplerType>
  void end(Draft<SamplerType>&) noexcept {}

 private:
  std::size_t min_match_;
  std::vector<SuffixAutomaton> texts_;  // [sequences]
};

static_assert(Drafter<NgramDrafter, SamplerChain>);

}  // namespace tulle
