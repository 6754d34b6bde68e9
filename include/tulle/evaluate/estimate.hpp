// SPDX-License-Identifier: Apache-2.0
/// \file Means with their standard errors (L5).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace tulle {

/// The standard error of fewer than two observations, which tell nothing of their spread.
inline constexpr double unknown_error = std::numeric_limits<double>::quiet_NaN();

struct Estimate {
  double value = 0;
  double standard_error = unknown_error;
};

/// The weighted mean of independent observations and its standard error, which is that of a ratio of means
/// (Cochran, Sampling Techniques, 3rd ed., 2.11): with equal weights the sample deviation over the root of their
/// number.
inline Estimate weighted_mean(std::span<const double> values, std::span<const double> weights) noexcept {
  double sum = 0, total = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += weights[i] * values[i];
    total += weights[i];
  }
  if (total <= 0) return {};
  const double mean = sum / total;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double deviation = weights[i] * (values[i] - mean);
    squares += deviation * deviation;
  }
  const auto count = static_cast<double>(values.size());
  return {mean, count > 1 ? std::sqrt(count / (count - 1) * squares) / total : unknown_error};
}

/// The share of `hits` among `count`, with the error of a mean of zeros and ones.
inline Estimate share(std::size_t hits, std::size_t count) noexcept {
  if (count == 0) return {};
  const double value = static_cast<double>(hits) / static_cast<double>(count);
  return {value, count > 1 ? std::sqrt(value * (1 - value) / static_cast<double>(count - 1)) : unknown_error};
}

/// exp of an estimate, with the error that its slope gives.
inline Estimate exponential(const Estimate& exponent) noexcept {
  const double value = std::exp(exponent.value);
  return {value, value * exponent.standard_error};
}

}  // namespace tulle
