// SPDX-License-Identifier: Apache-2.0
/// \file A drafted token accepted by rejection sampling, or another one drawn in its place (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <tulle/core/rng.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// A token that has the distribution `p` [vocabulary], given that `drafted` was drawn from `q`: the drafted one with
/// probability min(1, p / q) of it, else one from max(0, p - q), normalised. So it is the drafted one as often as any
/// rule can make it: with probability sum(min(p, q)). Leviathan, Kalman, Matias, "Fast Inference from Transformers via
/// Speculative Decoding", ICML 2023, algorithm 1 and appendix A.1; Chen et al., "Accelerating Large Language Model
/// Decoding with Speculative Sampling", 2023.
///
/// `q` is aligned with `p` by token id; ids behind its end have probability 0. Empty: `drafted` was certain. The draws
/// are those of the position in streams 1 and 2: the draft may have used stream 0.
inline Token accept_or_redraw(std::span<const float> p, std::span<const float> q, Token drafted,
                              const SamplingContext& context) noexcept {
  const auto at = static_cast<std::size_t>(drafted);
  const auto random = [&](std::uint32_t stream) {
    return uniform(context.seed, context.sequence, context.position, stream);
  };
  const auto proposal = [&](std::size_t id) {
    return q.empty() ? (id == at ? 1.0f : 0.0f) : (id < q.size() ? q[id] : 0.0f);
  };
  if (at < p.size() && random(1) * static_cast<double>(proposal(at)) < static_cast<double>(p[at])) return drafted;
  double rest = 0, all = 0;
  for (std::size_t id = 0; id < p.size(); ++id) {
    all += p[id];
    rest += std::max(0.0f, p[id] - proposal(id));
  }
  const bool equal = rest <= 0;  // but for rounding
  const double target = random(2) * (equal ? all : rest);
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t id = 0; id < p.size() && sum <= target; ++id) {
    const float weight = equal ? p[id] : std::max(0.0f, p[id] - proposal(id));
    if (weight > 0) last = id;
    sum += weight;
  }
  return static_cast<Token>(last);
}

}  // namespace tulle
