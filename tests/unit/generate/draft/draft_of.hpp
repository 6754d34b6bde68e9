// SPDX-License-Identifier: Apache-2.0
/// \file What a drafter alone makes of a text.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/generate/drafter.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle::testing {

/// `prompt`: how many tokens of the history are prompt.
template <class DrafterType>
Draft<SamplerChain> draft_of(DrafterType& drafter, const std::vector<Token>& history, std::size_t max_tokens,
                             const std::vector<Token>& eos = {}, SequenceId sequence = 0, std::size_t prompt = 0,
                             const std::atomic<bool>* cancel = nullptr) {
  static const SamplerChain greedy;
  Draft<SamplerChain> draft;
  draft.start(sequence, {history, prompt, static_cast<Position>(history.size()), 0, 0});
  draft.sampler = &greedy;
  draft.eos = eos;
  draft.cancel = cancel;
  draft.max_tokens = max_tokens;
  draft.vocabulary = 100;
  drafter.begin(draft);
  Draft<SamplerChain>* const one = &draft;
  while (!draft.ended) drafter.extend(std::span(&one, 1));
  drafter.end(draft);
  draft.context.history = {};
  draft.eos = {};
  return draft;
}

}  // namespace tulle::testing
