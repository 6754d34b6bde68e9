// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for sampling_options.hpp (L2).
#pragma once

#include <cmath>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/sampling/logit_bias.hpp>
#include <tulle/sampling/min_new_tokens.hpp>
#include <tulle/sampling/min_p.hpp>
#include <tulle/sampling/no_repeat_ngram.hpp>
#include <tulle/sampling/penalties.hpp>
#include <tulle/sampling/sampling_options.hpp>
#include <tulle/sampling/temperature.hpp>
#include <tulle/sampling/top_k.hpp>
#include <tulle/sampling/top_p.hpp>
#include <tulle/sampling/typical.hpp>

namespace tulle {

TULLE_INLINE void SamplingOptions::validate() const {
  if (!(temperature >= 0 && std::isfinite(temperature))) {
    fail(ErrorCode::invalid_argument, "temperature must be 0 (greedy) or a positive number, got ", temperature);
  }
  (void)TopK(top_k);
  (void)TopP(top_p);
  (void)MinP(min_p);
  (void)Typical(typical_p);
  (void)RepetitionPenalty(repetition_penalty);
  (void)PresencePenalty(presence_penalty);
  (void)FrequencyPenalty(frequency_penalty);
  (void)NoRepeatNgram(no_repeat_ngram);
  (void)MinNewTokens(min_new_tokens, eos);
  (void)LogitBias(logit_bias);
  if (constraint && (no_repeat_ngram > 0 || min_new_tokens > 0)) {
    fail(ErrorCode::invalid_argument,
         "no_repeat_ngram and min_new_tokens may ban the only token that a grammar allows; leave them out");
  }
}

}  // namespace tulle
