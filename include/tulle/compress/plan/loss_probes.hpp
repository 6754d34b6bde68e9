// SPDX-License-Identifier: Apache-2.0
/// \file What an error in a role of a decoder layer becomes at the end of the model (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/held_out_scores.hpp>
#include <tulle/compress/solved_matrix.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/matrix_view.hpp>

namespace tulle {

/// Residual streams of a few sequences. Each has left the dense model's in one role of one layer, and goes with it through
/// all layers that follow. A layer's own output does not tell that: what attention adds in the first layer is small
/// there, and matters later. Threads: one call at a time.
class LossProbes {
 public:
  /// `sequences`: some, of which the errors are the mean. `model` and `pool` must outlive the object. Errors: memory.
  LossProbes(const Architecture& model, const std::vector<std::vector<Token>>& sequences, ThreadPool& pool)
      : batch_(sequences, model.vocabulary), chain_(model, batch_, pool) {}

  std::size_t tokens() const noexcept { return batch_.tokens(); }

  /// All streams go through the dense layer.
  void pass(std::size_t layer, const LayerWeights<BlasLinear>& weights) {
    for (std::vector<float>& stream : streams_) run(layer, weights, stream);
  }

  /// One more stream: that of the dense model before the layer, `entered` [tokens, hidden], goes through other weights.
  void add(std::size_t layer, const LayerWeights<BlasLinear>& weights, std::vector<float> entered) {
    run(layer, weights, streams_.emplace_back(std::move(entered)));
  }

  /// |x~ - x|^2 / |x|^2 of stream `index` against the dense model's at the same place [tokens, hidden].
  double error(std::size_t index, MatrixView<const float> dense) const {
    return mean_stream_error(batch_, 0, batch_.size(), dense, {streams_[index].data(), dense.rows, dense.columns});
  }

  /// The last `count` streams, to be kept.
  NamedMatrices last(std::size_t count) const {
    NamedMatrices kept;
    for (std::size_t i = streams_.size() - count; i < streams_.size(); ++i) {
      const auto values = std::make_shared<const std::vector<float>>(streams_[i]);
      kept.emplace_back("stream_" + std::to_string(kept.size()),
                        std::make_shared<const MatrixOfFloats>(tokens(), values->size() / tokens(), DType::f32,
                                                               std::as_bytes(std::span(*values)), values));
    }
    return kept;
  }
  /// Takes up what `last` gave.
  void restore(const NamedMatrices& kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::string name = "stream_" + std::to_string(i);
      const auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& each) { return each.first == name; });
      std::vector<float>& stream = streams_.emplace_back(tokens() * found->second->columns());
      for (std::size_t row = 0; row < tokens(); ++row) {
        found->second->decode_row(row, &stream[row * found->second->columns()]);
      }
    }
  }

 private:
  void run(std::size_t layer, const LayerWeights<BlasLinear>& weights, std::vector<float>& stream) {
    std::copy(stream.begin(), stream.end(), chain_.residual().data);
    chain_.enter(layer, weights);
    for (const LinearRole role : {LinearRole::output, LinearRole::down}) chain_.run(role);
    std::copy_n(chain_.residual().data, stream.size(), stream.begin());
  }

  TokenBatch batch_;
  BlockChain chain_;
  std::vector<std::vector<float>> streams_;
};

}  // namespace tulle
