// SPDX-License-Identifier: Apache-2.0
/// \file The inner loops of attention in plain C++: the reference of the other sets (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tulle/core/half.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle::detail {

inline float element_value(float value) noexcept {
  return value;
}
inline float element_value(Half value) noexcept {
  return to_float(value);
}
inline float element_value(std::int8_t value) noexcept {
  return static_cast<float>(value);
}

/// scores[i] = sum_d query[d] * keys[i][d] for `count` rows of `size` elements. The order of each sum depends on `size`
/// alone. `Isa` chooses the loop.
template <class Element>
void score_keys(isa::Scalar, const float* query, const Element* keys, std::size_t count, std::size_t size,
                float* scores) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t d = 0; d < size; ++d) sum = std::fma(query[d], element_value(keys[i * size + d]), sum);
    scores[i] = sum;
  }
}

/// out[d] += sum_i weights[i] * values[i][d], i in order, by fma.
template <class Element>
void add_values(isa::Scalar, const float* weights, const Element* values, std::size_t count, std::size_t size,
                float* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < size; ++d) out[d] = std::fma(weights[i], element_value(values[i * size + d]), out[d]);
  }
}

/// scores[i] *= scale, and by scales[i] where those are not null; returns the largest.
inline float scale_scores(isa::Scalar, float* scores, std::size_t count, float scale, const float* scales) noexcept {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] *= scales == nullptr ? scale : scale * scales[i];
    largest = std::max(largest, scores[i]);
  }
  return largest;
}

/// Elements as floats.
template <class Element>
void to_floats(isa::Scalar, const Element* from, std::size_t count, float* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = element_value(from[i]);
}

/// scores[i] = exp(scores[i] - maximum) in place; returns their sum, added in order. maximum >= every score.
inline float exponentials(isa::Scalar, float* scores, std::size_t count, float maximum) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - maximum);
    sum += scores[i];
  }
  return sum;
}

}  // namespace tulle::detail
