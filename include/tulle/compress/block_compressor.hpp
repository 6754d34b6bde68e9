// SPDX-License-Identifier: Apache-2.0
/// \file Compression of one decoder layer: statistics and new weights, matrix after matrix (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/block_refiner.hpp>
#include <tulle/compress/channel_order.hpp>
#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/compression_report.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/expert_inputs.hpp>
#include <tulle/compress/held_out_scores.hpp>
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/planned_solver.hpp>
#include <tulle/compress/refinement_plan.hpp>
#include <tulle/compress/role_statistics.hpp>
#include <tulle/compress/smooth_quant.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/weight_loader.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// Compresses one decoder layer after the other. The dense and the compressed model's residual streams are kept for all
/// sequences; of the weights, one layer.
class BlockCompressor {
 public:
  /// The first `calibration` sequences of `batch` make the statistics, but where the plan refines, some of them choose its
  /// best state instead; on the others the error is measured.
  /// `tensors`, which is based on `folded`, gets the compressed matrices, and `folded` what SmoothQuant and orders of channels change. All
  /// must outlive the object. Errors: those of loading; memory.
  BlockCompressor(const Architecture& model, EditedTensors& folded, EditedTensors& tensors, const TokenBatch& batch,
                  std::size_t calibration, const StagePlan& plan, std::size_t input_bytes, ThreadPool& pool)
      : model_(model),
        folded_(folded),
        tensors_(tensors),
        batch_(batch),
        calibration_(calibration - (plan.refinement ? BlockRefiner::choosing_sequences(calibration) : 0)),
        known_(calibration),
        plan_(plan),
        pool_(pool),
        dense_loader_(folded, model, one_thread()),
        loader_(tensors, model, one_thread()),
        solver_(tensors, plan, pool),
        dense_(model, batch, pool, input_bytes),
        chain_(model, batch, pool, input_bytes) {
    prepare_blas();
    const ModelWeights<BlasLinear> entry = dense_loader_.load_entry();
    dense_.embed(entry);
    chain_.embed(plan.embedding_bits == 16 ? entry : loader_.load_entry());
    if (!plan.refinement) return;
    refiner_.emplace(model, folded, tensors, loader_, batch, calibration_, calibration, plan, pool);
  }

  /// Layers are taken in order, each once. `known`: its matrices are in `tensors` already, from an earlier run, and are
  /// only run. Errors: those of `LayerSolver`.
  BlockError compress(std::size_t layer, bool known, std::vector<LayerReport>& reports,
                      std::vector<RefinementReport>& refinements) {
    layer_ = layer;
    const bool refines = !known && refiner_.has_value();
    dense_.enter(layer, dense_loader_.load_layer(layer));
    chain_.enter(layer, loader_.load_layer(layer));
    const bool classic = !known && !is_sequential();
    const std::vector<float> entered = classic ? copy_of(chain_.residual()) : std::vector<float>();
    NamedMatrices held_back;
    for (const LinearRole role : roles_of(layer)) {
      if (refines && !RoleStatistics::adds_to_residual(role)) refiner_->begin_half(layer, role, chain_);
      smooth(role);
      if (!RoleStatistics::adds_to_residual(role)) {
        order_channels_of(role == LinearRole::up ? LinearRole::down : LinearRole::output);
      }
      RoleStatistics statistics(dense_, chain_, role, batch_.begin(calibration_), pool_);
      const bool solves = !known && is_planned(role);
      if (solves) {
        const auto collect = [&](TargetPlan target) {
          const double share = stream_share(role);
          if (share == 0) target.gamma = 0;
          LayerStatistics found = statistics.collect(target);
          for (double& lacking : std::span(found.correction.data(), found.correction.size())) lacking *= share;
          return found;
        };
        keep(solver_.solve(layer_names(model_, layer_, role), collect, reports), classic, held_back);
        if (!classic) chain_.replace(loader_.load_layer(layer));
      }
      statistics.advance(solves);
      if (refines && RoleStatistics::adds_to_residual(role))
        refiner_->end_half(layer, role, dense_, chain_, refinements);
    }
    if (model_.layers[layer].is_mixture()) {
      if (!known) {
        compress_experts(classic, held_back, reports);
        chain_.replace(loader_.load_layer(layer));
      }
      dense_.advance(LinearRole::down);
      chain_.advance(LinearRole::down);
    }
    if (classic) {  // the layer is run again, with its new weights
      for (auto& [name, matrix] : held_back) tensors_.replace(name, std::move(matrix));
      std::copy(entered.begin(), entered.end(), chain_.residual().data);
      chain_.enter(layer, loader_.load_layer(layer));
      chain_.run(LinearRole::output);
      if (model_.layers[layer].is_mixture()) {
        chain_.collect(LinearRole::up);
        chain_.advance(LinearRole::down);
      } else {
        chain_.run(LinearRole::down);
      }
    }
    const auto error_of = [&](std::size_t begin, std::size_t end) {
      return mean_stream_error(batch_, begin, end, dense_.residual(), chain_.residual());
    };
    return {layer, error_of(0, calibration_), error_of(known_, batch_.size())};
  }

  /// After the last layer: on the held-out sequences. Errors: memory.
  HeldOutScores score() {
    const auto scores = [&](const ModelWeights<BlasLinear>& dense, const ModelWeights<BlasLinear>& own) {
      return score_held_out(model_, dense, own, batch_, known_, dense_.residual(), chain_.residual(), pool_);
    };
    const ModelWeights<BlasLinear> dense = dense_loader_.load_ends();
    const bool shares_ends = plan_.embedding_bits == 16 && !plan_.layers.contains(model_.names.head);
    return shares_ends ? scores(dense, dense) : scores(dense, loader_.load_ends());
  }

 private:
  /// Of a mixture without `down`: every expert has its own.
  std::span<const LinearRole> roles_of(std::size_t layer) const noexcept {
    static constexpr std::array roles{LinearRole::query_key_value, LinearRole::output, LinearRole::up,
                                      LinearRole::down};
    return std::span(roles).first(model_.layers[layer].is_mixture() ? 3 : 4);
  }

  static LoadOptions one_thread() {
    LoadOptions options;
    options.threads = 1;
    return options;
  }
  static std::vector<float> copy_of(MatrixView<const float> rows) {
    return {rows.data, rows.data + rows.rows * rows.columns};
  }

  bool is_planned(LinearRole role) const {
    const auto names = layer_names(model_, layer_, role);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return solver_.plan_of(name) != nullptr; });
  }
  /// What the layers of `role` give for one that reaches the residual stream: 0 where a norm stands between.
  double stream_share(LinearRole role) const {
    const std::string& norm =
        role == LinearRole::output ? model_.names.attention_post_norm : model_.names.mlp_post_norm;
    return norm.empty() ? 1 / static_cast<double>(model_.residual_scale) : 0;
  }
  bool is_sequential() const {
    const std::string prefix = model_.layer_prefix(layer_);
    return std::none_of(plan_.layers.begin(), plan_.layers.end(), [&](const auto& each) {
      return each.first.starts_with(prefix) && !each.second.target.sequential;
    });
  }

  /// Puts new matrices in their place, now or with all others of a layer.
  void keep(NamedMatrices matrices, bool later, NamedMatrices& held_back) {
    for (auto& [name, matrix] : matrices) {
      if (later) {
        held_back.emplace_back(name, std::move(matrix));
      } else {
        tensors_.replace(name, std::move(matrix));
      }
    }
  }

  /// The experts of a mixture, each on the tokens that go to it. What the chains collected is what they read.
  void compress_experts(bool classic, NamedMatrices& held_back, std::vector<LayerReport>& reports) {
    const LayerSpec& spec = model_.layers[layer_];
    const auto calibration = [&](MatrixView<const float> all) { return rows_of(all, {0, batch_.begin(calibration_)}); };
    const ExpertInputs inputs(model_, spec, chain_.weights().router, calibration(chain_.inputs()));
    for (std::size_t expert = 0; expert < expert_count(spec); ++expert) {
      Matrix own = inputs.rows(expert, calibration(chain_.inputs()));
      Matrix dense = inputs.rows(expert, calibration(dense_.inputs()));
      for (const LinearRole role : {LinearRole::up, LinearRole::down}) {
        if (role == LinearRole::down) {
          own = inputs.activated(loader_.load_expert(layer_, expert).up, own);
          dense = inputs.activated(dense_loader_.load_expert(layer_, expert).up, dense);
        }
        const auto statistics = [&](const TargetPlan& target) {
          return expert_statistics(own.view(), target.alpha != 0 ? dense.view() : MatrixView<float>(), pool_);
        };
        std::vector<LayerReport> made;
        keep(solver_.solve(expert_names(model_, layer_, expert, role), statistics, made), classic, held_back);
        for (LayerReport& report : made) {
          if (own.rows < min_expert_rows) report.form += ", nearest: it saw " + std::to_string(own.rows) + " tokens";
          reports.push_back(std::move(report));
        }
      }
    }
  }

  /// Applies SmoothQuant to what the layers of `role` read, in both chains.
  void smooth(LinearRole role) {
    if (!plan_.smooth_quant) return;
    const std::vector<std::string> names = layer_names(model_, layer_, role);
    for (const SmoothQuantPlan::Mapping& mapping : plan_.smooth_quant->mappings) {
      if (std::find(names.begin(), names.end(), mapping.balanced.front()) == names.end()) continue;
      smooth_layers(*plan_.smooth_quant, mapping, largest_inputs(role), model_.norm_offset, folded_);
      dense_.replace(dense_loader_.load_layer(layer_));
      chain_.replace(loader_.load_layer(layer_));
    }
  }

  /// Gives the channels that `role` will read an order in which its pruning loses less, in both chains.
  void order_channels_of(LinearRole role) {
    const std::vector<std::string> names = layer_names(model_, layer_, role);
    const LayerPlan* plan = names.empty() ? nullptr : solver_.plan_of(names.front());
    if (plan == nullptr || !plan->pruning || !plan->pruning->moves_channels()) return;
    const LinearRole maker = role == LinearRole::output ? LinearRole::query_key_value : LinearRole::up;
    for (const std::string& name : layer_names(model_, layer_, maker)) {  // one that stays would lose its codes
      if (solver_.plan_of(name) == nullptr && folded_.matrix(name)->code_format().bits != 0) return;
    }
    constexpr std::size_t enough = 16;
    dense_.collect(role, {0, std::min(calibration_, enough)});
    if (!order_channels(model_, layer_, role, plan->pruning->structure, dense_.inputs(), folded_, pool_)) return;
    dense_.replace(dense_loader_.load_layer(layer_));
    chain_.replace(loader_.load_layer(layer_));
  }

  /// Magnitudes, of each column over the calibration tokens of the dense model.
  std::vector<float> largest_inputs(LinearRole role) {
    std::vector<float> largest;
    for (const RowRange group : dense_.groups(role)) {
      dense_.collect(role, group);
      const MatrixView<const float> inputs = dense_.inputs();
      largest.resize(inputs.columns);
      const RowRange tokens = dense_.tokens_of({group.begin, std::clamp(calibration_, group.begin, group.end)});
      for (std::size_t row = 0; row < tokens.count(); ++row) {
        for (std::size_t j = 0; j < inputs.columns; ++j) largest[j] = std::max(largest[j], std::abs(inputs[row][j]));
      }
    }
    return largest;
  }

  const Architecture& model_;
  EditedTensors &folded_, &tensors_;
  const TokenBatch& batch_;
  std::size_t calibration_, known_;  // sequences that make statistics; and with those that choose states
  const StagePlan& plan_;
  ThreadPool& pool_;
  WeightLoader<BlasLinear> dense_loader_, loader_;
  PlannedSolver solver_;
  BlockChain dense_, chain_;
  std::optional<BlockRefiner> refiner_;  // where the plan refines
  std::size_t layer_ = 0;
};

}  // namespace tulle
