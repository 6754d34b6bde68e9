// SPDX-License-Identifier: Apache-2.0
/// \file What happens to queries and keys before attention, and its gradient (L5).
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <tulle/compress/backward/rms_norm.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// Clips, normalizes, rotates and scales rows of queries, keys and values [qkv_rows], as `SelfAttention` does.
/// Threads: const members may run concurrently.
class QueryKeySteps {
 public:
  /// All must outlive the object. Errors: memory.
  QueryKeySteps(const Architecture& model, const LayerSpec& spec, const NormWeights& query_norm,
                const NormWeights& key_norm, std::size_t max_length)
      : model_(model), spec_(spec), query_norm_(query_norm), key_norm_(key_norm) {
    const Rotary& rotary = model.rotary_tables[spec.rotary];
    for (std::size_t position = 0; position < max_length; ++position) {
      for (const float frequency : rotary.inverse_frequencies) {
        const auto angle = static_cast<double>(static_cast<float>(position) * frequency);
        cosines_.push_back(rotary.factor * static_cast<float>(std::cos(angle)));
        sines_.push_back(rotary.factor * static_cast<float>(std::sin(angle)));
        opposite_.push_back(-sines_.back());
      }
    }
  }

  /// The row at `position`, in place.
  void forward(std::size_t position, float* row) const noexcept {
    if (model_.qkv_clip != 0) clip(model_.qkv_clip, model_.qkv_rows(), row);
    if (spec_.query_key_norm != QueryKeyNorm::none) {
      for_each_norm([&](const NormWeights& norm, std::size_t at) {
        rms_norm(row + at, norm.weight.data(), norm.weight.size(), model_.norm_epsilon, row + at);
      });
    }
    turn(position, sines_, row);
    if (model_.query_scale != 1) scale(model_.query_scale, model_.query_rows(), row);
  }

  /// `gradient`, that of what `forward` makes of `row`, becomes that of `row`. `buffer` [qkv_rows].
  void backward(std::size_t position, const float* row, float* gradient, float* buffer) const noexcept {
    if (model_.query_scale != 1) scale(model_.query_scale, model_.query_rows(), gradient);
    turn(position, opposite_, gradient);  // the transposed rotation
    if (spec_.query_key_norm != QueryKeyNorm::none) {
      std::copy_n(row, model_.qkv_rows(), buffer);
      if (model_.qkv_clip != 0) clip(model_.qkv_clip, model_.qkv_rows(), buffer);
      for_each_norm([&](const NormWeights& norm, std::size_t at) {
        rms_norm_backward(buffer + at, norm.weight.data(), norm.weight.size(), model_.norm_epsilon, gradient + at,
                          gradient + at);
      });
    }
    if (model_.qkv_clip == 0) return;
    for (std::size_t i = 0; i < model_.qkv_rows(); ++i) {
      if (std::abs(row[i]) > model_.qkv_clip) gradient[i] = 0;
    }
  }

 private:
  /// Every part of the queries, then of the keys, that a norm has as many weights for.
  template <class Visit>
  void for_each_norm(Visit&& visit) const noexcept {
    const std::size_t queries = model_.query_rows(), end = queries + model_.kv_rows();
    for (std::size_t at = 0; at < queries; at += query_norm_.weight.size()) visit(query_norm_, at);
    for (std::size_t at = queries; at < end; at += key_norm_.weight.size()) visit(key_norm_, at);
  }

  void turn(std::size_t position, const std::vector<float>& sines, float* row) const noexcept {
    const Rotary& rotary = model_.rotary_tables[spec_.rotary];
    const std::size_t pairs = rotary.inverse_frequencies.size();
    for (std::size_t head = 0; head < model_.heads + model_.kv_heads; ++head) {
      rotate(row + head * model_.head_dim, cosines_.data() + position * pairs, sines.data() + position * pairs, pairs,
             rotary.pairing);
    }
  }

  const Architecture& model_;
  const LayerSpec& spec_;
  const NormWeights &query_norm_, &key_norm_;
  std::vector<float> cosines_, sines_, opposite_;  // [positions, pairs]
};

}  // namespace tulle
