// SPDX-License-Identifier: Apache-2.0
/// \file Scores of one row of logits: negative log-likelihood, and the distance from another model's row (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle {

/// How far a row of logits is from a reference's row at the same place.
struct RowDivergence {
  double kl = 0;          ///< KL(reference || model) in nats: sum of p log(p / q)
  bool same_top = false;  ///< both rows have their largest logit at the same token
};

namespace detail {

/// log(sum of exp(logit)); NaN where a logit is NaN. Exponentials are floats, summed in blocks of 64 that are added in
/// double: relative error about 1e-7.
template <class Batch = DefaultBatch>
double log_sum_exp(std::span<const float> logits, float largest) noexcept {
  double total = 0;
  std::size_t at = 0;
  constexpr std::size_t block = 64;
  for (; at + block <= logits.size(); at += block) {
    Batch sum(0.0f);
    for (std::size_t i = at; i < at + block; i += Batch::size) {
      sum += xsimd::exp(Batch::load_unaligned(logits.data() + i) - Batch(largest));
    }
    total += static_cast<double>(xsimd::reduce_add(sum));
  }
  for (; at < logits.size(); ++at) total += std::exp(static_cast<double>(logits[at] - largest));
  return static_cast<double>(largest) + std::log(total);
}

/// The sum of exp(p - largest of p) * ((p - largest of p) - (q - largest of q)) over the row.
template <class Batch = DefaultBatch>
double weighted_difference(std::span<const float> p, float largest_p, std::span<const float> q,
                           float largest_q) noexcept {
  double total = 0;
  std::size_t at = 0;
  constexpr std::size_t block = 64;
  for (; at + block <= p.size(); at += block) {
    Batch sum(0.0f);
    for (std::size_t i = at; i < at + block; i += Batch::size) {
      const Batch below = Batch::load_unaligned(p.data() + i) - Batch(largest_p);
      const Batch weight = xsimd::exp(below);
      const Batch difference = below - (Batch::load_unaligned(q.data() + i) - Batch(largest_q));
      sum += xsimd::select(weight > Batch(0.0f), weight * difference, Batch(0.0f));  // a weight of 0 counts as 0
    }
    total += static_cast<double>(xsimd::reduce_add(sum));
  }
  for (; at < p.size(); ++at) {
    const double below = static_cast<double>(p[at]) - static_cast<double>(largest_p), weight = std::exp(below);
    if (weight > 0) total += weight * (below - (static_cast<double>(q[at]) - static_cast<double>(largest_q)));
  }
  return total;
}

}  // namespace detail

/// -log softmax(logits)[target] in nats, over all logits. Requires: target < logits.size().
inline double negative_log_likelihood(std::span<const float> logits, Token target) noexcept {
  const float largest = detail::largest_logit(logits);
  return detail::log_sum_exp(logits, largest) - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

/// Compares a model's row [vocabulary] with a reference's. The divergence of equal rows is exactly 0; rounding never
/// makes one negative. Requires: equal sizes.
inline RowDivergence divergence(std::span<const float> reference, std::span<const float> logits) noexcept {
  const float largest_p = detail::largest_logit(reference), largest_q = detail::largest_logit(logits);
  const auto top = [](std::span<const float> row, float largest) {
    return std::find(row.begin(), row.end(), largest) - row.begin();
  };
  // sum p (log p - log q), with log p = (p - largest of p) - log_p, where p and q stand for logits.
  const double log_p = detail::log_sum_exp(reference, largest_p) - static_cast<double>(largest_p);
  const double log_q = detail::log_sum_exp(logits, largest_q) - static_cast<double>(largest_q);
  const double difference = detail::weighted_difference(reference, largest_p, logits, largest_q) / std::exp(log_p);
  const double kl = difference - log_p + log_q;
  return {kl < 0 ? 0.0 : kl, top(reference, largest_p) == top(logits, largest_q)};
}

}  // namespace tulle
