// SPDX-License-Identifier: Apache-2.0
/// \file Statistics of what the layers of one role read in both models, group after group of sequences (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// Where inputs of all sequences do not fit in memory together, they are collected once more for every purpose: for the
/// way of the dense model, for statistics, and for the way of the compressed one. Threads: one call at a time.
class RoleStatistics {
 public:
  /// Leads the dense model through `role`; the compressed one stands before it. The first `tokens` tokens make the
  /// statistics. All must outlive the object. Errors: memory.
  RoleStatistics(BlockChain& dense, BlockChain& chain, LinearRole role, std::size_t tokens, ThreadPool& pool)
      : dense_(dense), chain_(chain), role_(role), tokens_(tokens), pool_(pool), groups_(chain.groups(role)) {
    if (adds_to_residual(role)) {
      const MatrixView<const float> stream = dense.residual();
      before_.assign(stream.data, stream.data + stream.rows * stream.columns);
    }
    dense.run(role);
  }

  static bool adds_to_residual(LinearRole role) noexcept {
    return role == LinearRole::output || role == LinearRole::down;
  }

  /// What `target` needs. Errors: memory.
  LayerStatistics collect(const TargetPlan& target) {
    const bool adds = adds_to_residual(role_), lacks = adds && target.alpha != 0 && target.gamma != 0;
    std::vector<float> weights;
    if (adds && target.row_weights) weights = row_weights(rows_of(dense_stream(), {0, tokens_}));
    StatisticsSums sums;
    if (is_grouped()) swap_streams();
    for (const RowRange group : groups_) {
      const RowRange all = chain_.tokens_of(group), tokens{all.begin, std::min(all.end, tokens_)};
      if (tokens.begin >= tokens.end) break;
      const auto own = [&](BlockChain& chain) { return rows_of(chain.inputs(), {0, tokens.count()}); };
      chain_.collect(role_, group);
      LayerSamples samples{.inputs = own(chain_)};
      if (target.alpha != 0) {
        if (is_grouped()) dense_.collect(role_, group);
        samples.dense_inputs = own(dense_);
      }
      if (lacks) {
        samples.residual = rows_of(MatrixView<const float>(chain_.residual()), tokens);
        samples.dense_residual = rows_of(is_grouped() ? dense_stream() : stream_before(), tokens);
      }
      if (!weights.empty()) samples.weights = std::span(weights).subspan(tokens.begin, tokens.count());
      sums.add(samples, pool_);
    }
    if (is_grouped()) swap_streams();
    return sums.means();
  }

  /// Leads the compressed model through the role. `collected`: `collect` was called, and the weights that lead to the role
  /// are those of then.
  void advance(bool collected) {
    if (collected && !is_grouped()) {
      chain_.advance(role_);
    } else {
      chain_.run(role_);
    }
  }

 private:
  bool is_grouped() const noexcept { return groups_.size() > 1; }
  MatrixView<const float> dense_stream() const noexcept { return dense_.residual(); }
  MatrixView<const float> stream_before() const noexcept {
    return {before_.data(), dense_stream().rows, dense_stream().columns};
  }
  /// The dense model stands before the role again, and with a second call behind it.
  void swap_streams() noexcept { std::swap_ranges(before_.begin(), before_.end(), dense_.residual().data); }

  BlockChain &dense_, &chain_;
  LinearRole role_;
  std::size_t tokens_;
  ThreadPool& pool_;
  std::vector<RowRange> groups_;  // of sequences
  std::vector<float> before_;     // the dense residual stream before a role that adds to it
};

}  // namespace tulle
