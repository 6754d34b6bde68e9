// SPDX-License-Identifier: Apache-2.0
/// \file Caches of random rows, and attention to them in double.
#pragma once

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/model/online_attention.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/model/attention_elements.hpp"

namespace tulle::testing {

/// Puts the same `length` random rows into sequence 0 of any layout, at most 16 at once.
template <class Cache>
void fill(Cache& cache, Position length) {
  const std::size_t width = cache.shape().layers[0].row_elements();
  const auto keys = random_floats(length * width, 31), values = random_floats(length * width, 32);
  for (Position begin = 0; begin < length; begin += 16) {
    const Position end = std::min<Position>(begin + 16, length);
    REQUIRE(cache.extend(0, end));
    for (Position at = begin; at < end; ++at)
      cache.append(0, 0, at, keys.data() + at * width, values.data() + at * width);
  }
}

/// softmax(q k / sqrt(d)) v in double, over what the cache says it holds.
template <class Cache>
std::vector<double> reference(const Cache& cache, Position position, std::size_t kv_head, const float* query,
                              ScoreTerms terms = {}) {
  const std::size_t size = cache.shape().layers[0].head_dim;
  std::vector<double> scores;
  std::vector<std::vector<double>> values;
  cache.for_each_span(0, 0, {0, position + 1}, [&](const auto& span) {
    for (std::size_t i = 0; i < span.count; ++i) {
      const auto* key = span.keys + kv_head * span.head_stride + i * size;
      const auto* value = span.values + kv_head * span.head_stride + i * size;
      const bool scaled = span.key_scales != nullptr;
      const double key_scale = scaled ? span.key_scales[kv_head * span.scale_stride + i] : 1.0f;
      const double value_scale = scaled ? span.value_scales[kv_head * span.scale_stride + i] : 1.0f;
      double score = 0;
      values.emplace_back();
      for (std::size_t d = 0; d < size; ++d) {
        score += static_cast<double>(query[d]) * detail::element_value(key[d]) * key_scale;
        values.back().push_back(detail::element_value(value[d]) * value_scale);
      }
      score /= std::sqrt(static_cast<double>(size));
      if (terms.cap != 0) score = terms.cap * std::tanh(score / terms.cap);
      scores.push_back(score - terms.slope * static_cast<double>(position - span.begin - i));
    }
  });
  const double maximum = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  std::vector<double> out(size);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(scores[i] - maximum);
    sum += weight;
    for (std::size_t d = 0; d < size; ++d) out[d] += weight * values[i][d];
  }
  for (double& value : out) value /= sum;
  return out;
}

}  // namespace tulle::testing
