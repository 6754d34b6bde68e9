// SPDX-License-Identifier: Apache-2.0
/// \file Refinement in the course of a layer's compression: half after half (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/half_refiner.hpp>
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/layer_solver.hpp>
#include <tulle/compress/refinement_plan.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/compress/tunable_rows.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/weight_loader.hpp>
#include <tulle/tensor/sparsity.hpp>

namespace tulle {

/// `begin_half` before the first role of a half of a layer (query-key-value, up), `end_half` after the second one (output,
/// down). Threads: one call at a time.
class BlockRefiner {
 public:
  /// `plan` has a refinement. `folded` gives the dense weights, `tensors` has the compressed ones and gets the refined
  /// ones, `loader` reads them. Of the sequences, the first `training` are learnt and those up to `end` choose the best
  /// state. All must outlive the object.
  BlockRefiner(const Architecture& model, const TensorSource& folded, EditedTensors& tensors,
               const WeightLoader<BlasLinear>& loader, const TokenBatch& batch, std::size_t training, std::size_t end,
               const StagePlan& plan, ThreadPool& pool)
      : model_(model),
        folded_(folded),
        tensors_(tensors),
        loader_(loader),
        batch_(batch),
        training_(training),
        end_(end),
        plan_(plan),
        pool_(pool) {}

  /// Of 2 or more sequences, those that choose states.
  static std::size_t choosing_sequences(std::size_t count) noexcept {
    return std::min(count - 1, std::clamp<std::size_t>(count / 16, 1, 8));
  }

  /// Keeps the compressed model's residual stream with which the half begins.
  void begin_half(std::size_t layer, LinearRole role, BlockChain& chain) {
    const MatrixView<const float> stream = chain.residual();
    base_.assign(stream.data, stream.data + stream.rows * stream.columns);
    const bool reads_entry = role == LinearRole::up && model_.layers[layer].residual == Residual::parallel;
    if (!reads_entry) entry_ = base_;
  }

  /// Tunes the matrices of the half that `role` ends, and runs it again with them. Both chains are behind the half.
  void end_half(std::size_t layer, LinearRole role, BlockChain& dense, BlockChain& chain,
                std::vector<RefinementReport>& reports) {
    const bool is_attention = role == LinearRole::output;
    const LinearRole first_role = is_attention ? LinearRole::query_key_value : LinearRole::up;
    TunableRows first = rows_of_role(layer, first_role, chain), second = rows_of_role(layer, role, chain);
    const std::optional<RefinementPlan>& refinement = plan_.refinement;
    if (!refinement || (!first.may_move() && !second.may_move())) return;
    const auto stream = [&](const std::vector<float>& values) {
      return MatrixView<const float>(values.data(), batch_.tokens(), model_.hidden);
    };
    HalfRefiner refiner(model_, model_.layers[layer], chain.weights(),
                        is_attention ? BlockHalf::attention : BlockHalf::mlp, batch_, training_, end_, *refinement,
                        pool_);
    RefinementReport report = refiner.refine(first, second, {stream(entry_), stream(base_), dense.residual()},
                                             2 * layer + (is_attention ? 0 : 1));
    report.layer = layer;
    report.is_attention = is_attention;
    reports.push_back(report);
    if (report.epoch == 0) return;
    for (TunableRows* rows : {&first, &second}) {
      for (auto& [name, matrix] : rows->matrices()) tensors_.replace(name, std::move(matrix));
    }
    std::copy(base_.begin(), base_.end(), chain.residual().data);
    chain.replace(loader_.load_layer(layer));
    chain.run(role);
  }

 private:
  TunableRows rows_of_role(std::size_t layer, LinearRole role, BlockChain& chain) const {
    return TunableRows(model_, layer, role, BlockChain::linear(chain.weights(), role), tensors_, folded_,
                       [&](const std::string& name) { return keeps_zeros(name); });
  }

  /// Whether the zeros of a matrix are its mask; nothing for one that does not change.
  std::optional<bool> keeps_zeros(const std::string& name) const {
    const auto found = plan_.layers.find(name);
    if (found == plan_.layers.end()) return {};
    return found->second.pruning || measure_sparsity(*folded_.matrix(name)).share() >= min_pruned_share;
  }

  const Architecture& model_;
  const TensorSource& folded_;
  EditedTensors& tensors_;
  const WeightLoader<BlasLinear>& loader_;
  const TokenBatch& batch_;
  std::size_t training_, end_;
  const StagePlan& plan_;
  ThreadPool& pool_;
  std::vector<float> entry_, base_;  // [tokens, hidden]: what the half reads, and what its branch is added to
};

}  // namespace tulle
