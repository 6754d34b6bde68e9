// SPDX-License-Identifier: Apache-2.0
/// \file Integer codes for weights: scales, and the nearest code (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/core/half.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// The nearest integer, half to even, of a value far below 2^22. (std::nearbyint is a call for every value where the compiler
/// may assume no more than SSE2.)
template <class T>
T round_code(T value) noexcept {
  constexpr T rounder = static_cast<T>(std::uint64_t{3} << (std::numeric_limits<T>::digits - 2));
  return (value + rounder) - rounder;
}

/// value = scale * (code - zero_point). Symmetric codes lie in [-2^(bits-1), 2^(bits-1) - 1] and have no zero point,
/// others in [0, 2^bits - 1].
template <class T>
struct CodeScale {
  T scale = 1;
  int zero_point = 0;
  int lowest = -128, highest = 127;

  int code(T value) const noexcept {
    const T position =
        std::clamp(value / scale + static_cast<T>(zero_point), static_cast<T>(lowest), static_cast<T>(highest));
    return static_cast<int>(round_code(position));  // clamped first, then rounded
  }
  T value(int code) const noexcept { return scale * static_cast<T>(code - zero_point); }
  T nearest(T weight) const noexcept { return value(code(weight)); }
};

/// What the codes of a plan will be.
inline CodeFormat code_format(const QuantizationPlan& plan) noexcept {
  return {.bits = plan.bits, .group = plan.group, .has_minimums = !plan.symmetric};
}

/// As files store it: scales of groups in 16 bits, where they can hold it. Beside minimums of 4-bit codes it has 7
/// significant bits, so that the minimum, up to 15 scales, is exact in 16 bits too.
template <class T>
T stored_scale(const CodeFormat& format, T scale) noexcept {
  Half half = to_half(static_cast<float>(scale));
  if (format.has_minimums && format.bits == 4) half.bits = static_cast<std::uint16_t>((half.bits + 8u) & ~15u);
  const T rounded = static_cast<T>(to_float(half));
  return format.group != 0 && rounded != 0 && std::isfinite(rounded) ? rounded : scale;
}

namespace detail {

/// Codes of a range [low, high] of values that contains 0.
template <class T>
CodeScale<T> scale_of_range(T low, T high, const QuantizationPlan& plan, double steps) noexcept {
  const int codes = 1 << plan.bits;
  CodeScale<T> result;
  if (plan.symmetric) {
    result.lowest = -codes / 2;
    result.highest = codes / 2 - 1;
    result.scale = std::max(-low, high) / static_cast<T>(steps);
  } else {
    result.lowest = 0;
    result.highest = codes - 1;
    result.scale = (high - low) / static_cast<T>(codes - 1);
  }
  // A group of zeros, and one of denormal values.
  if (!(result.scale > std::numeric_limits<float>::min())) result.scale = std::numeric_limits<float>::epsilon();
  result.scale = stored_scale(code_format(plan), result.scale);
  if (!plan.symmetric)
    result.zero_point = static_cast<int>(round_code(std::clamp<T>(-low / result.scale, 0, static_cast<T>(codes - 1))));
  return result;
}

/// Sums over the weights that `mask` has of importance * (nearest value - weight)^2, for each of the scales, whose
/// codes have one range.
template <class T, std::size_t most>
std::array<T, most> squared_errors(const std::array<CodeScale<T>, most>& candidates, std::span<const T> weights,
                                   const std::uint8_t* mask, const T* importance) noexcept {
  const T lowest = static_cast<T>(candidates[0].lowest), highest = static_cast<T>(candidates[0].highest);
  std::array<T, most> scales, zeros, sums{};
  for (std::size_t c = 0; c < most; ++c) {
    scales[c] = candidates[c].scale;
    zeros[c] = static_cast<T>(candidates[c].zero_point);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (mask != nullptr && mask[i] == 0) continue;
    const T weight = weights[i], cost = importance == nullptr ? T{1} : importance[i];
    for (std::size_t c = 0; c < most; ++c) {  // side by side, as vectors: the additions of one sum wait for each other
      const T position = weight / scales[c] + zeros[c], above = position < lowest ? lowest : position;
      const T difference = scales[c] * (round_code(highest < above ? highest : above) - zeros[c]) - weight;
      sums[c] += difference * difference * cost;
    }
  }
  return sums;
}

}  // namespace detail

/// The scale of a group of weights, of which `mask` (or all, without one) count.
/// By the largest value: symmetric scales divide it by 2^(bits-1) - 0.5, as compressed-tensors does. With a search: of 27
/// scales, down to 0.6 of the largest, the one whose codes have the least squared error, a weight's times its
/// `importance` where that is given. 4-bit scales of `descent` are negative where the largest value is positive: that one
/// then has the code -8, which reaches further than 7.
template <class T>
CodeScale<T> find_scale(std::span<const T> weights, const std::uint8_t* mask, const QuantizationPlan& plan,
                        const T* importance = nullptr) noexcept {
  T low = 0, high = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (mask != nullptr && mask[i] == 0) continue;
    low = std::min(low, weights[i]);
    high = std::max(high, weights[i]);
  }
  const double half = static_cast<double>(1 << (plan.bits - 1));
  if (!plan.searches_scale) return detail::scale_of_range(low, high, plan, half - 0.5);
  const bool is_negative = plan.method == QuantizationMethod::descent && plan.symmetric && plan.bits < 8 && high > -low;
  constexpr std::size_t most = 28;  // in steps of 4, as vectors have them
  std::array<CodeScale<T>, most> candidates;
  std::size_t count = 0;
  for (const double factor : {1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6}) {
    for (const double steps : {half - 1, half - 0.5, half}) {
      if (!plan.symmetric && steps > half - 1) continue;
      const T share = static_cast<T>(factor);
      CodeScale<T>& scale = candidates[count++];
      scale = detail::scale_of_range(low * share, high * share, plan, steps);
      if (is_negative) scale.scale = -scale.scale;
    }
  }
  const std::array<T, most> errors = detail::squared_errors(candidates, weights, mask, importance);
  return candidates[static_cast<std::size_t>(std::min_element(errors.begin(), errors.begin() + count) -
                                             errors.begin())];
}

}  // namespace tulle
