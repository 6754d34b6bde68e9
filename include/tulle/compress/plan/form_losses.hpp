// SPDX-License-Identifier: Apache-2.0
/// \file What each form would cost in accuracy, for every matrix of a model (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/held_out_scores.hpp>
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/layer_solver.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/solved_matrix.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/model/weight_loader.hpp>

namespace tulle {

/// Losses of a decoder layer: what a form adds to the relative error |x~ - x|^2 / |x|^2 of the residual stream after it.
struct LayerLosses {
  std::vector<std::vector<std::string>> items;        ///< matrices that read the same input
  std::map<std::string, std::vector<double>> losses;  ///< of a matrix, one for each form; below 0: it does not fit
  std::map<std::string, std::vector<double>> bytes;   ///< the same, as packed; 0: what `FormCost` says, for any zeros
  std::vector<double> factors;  ///< of each form, in the layer where they were measured: final over cheap method
};

inline Json losses_json(const LayerLosses& layer) {
  return {{"items", layer.items}, {"losses", layer.losses}, {"bytes", layer.bytes}, {"factors", layer.factors}};
}
inline LayerLosses layer_losses(const Json& json) {
  return {json.at("items"), json.at("losses"), json.at("bytes"), json.at("factors")};
}

/// The matrices of a decoder layer, in the order in which they run.
inline constexpr std::array layer_roles{LinearRole::query_key_value, LinearRole::output, LinearRole::up,
                                        LinearRole::down};

/// Those of `names` that read the same input: the matrices of a role of a decoder layer.
inline std::vector<std::string> names_of_item(const Architecture& model, std::size_t layer, LinearRole role,
                                              std::span<const std::string> names) {
  std::vector<std::string> item = layer_names(model, layer, role);
  std::erase_if(item, [&](const auto& name) { return std::find(names.begin(), names.end(), name) == names.end(); });
  return item;
}

/// Goes through the dense model once. In each decoder layer every form is made of every matrix by a cheap method
/// (SparseGPT's mask; codes as always), fitted to the calibration text; its loss is tr(dW H dW^T) with H of other text.
/// For each role one form is put into the layer, whose output then shows what a loss of this role means:
/// the scale of the role's losses. Threads: one call at a time.
class FormScorer {
 public:
  /// The first `calibration` sequences of `batch` make the statistics; the others, or the first ones where there are
  /// none, measure the losses. All must outlive the object. Errors: those of loading; memory.
  FormScorer(const Architecture& model, const TensorSource& dense, const TokenBatch& batch, std::size_t calibration,
             std::span<const MatrixForm> forms, ThreadPool& pool)
      : model_(model),
        tensors_(dense),
        batch_(batch),
        forms_(forms),
        pool_(pool),
        loader_(dense, model, one_thread()),
        calibration_{0, batch.begin(calibration)},
        probed_first_(calibration == batch.size() ? 0 : calibration),
        measured_{batch.begin(probed_first_), batch.tokens()},
        probed_(sequences_of(batch, probed_first_), model.vocabulary),
        chain_(model, batch, pool),
        probe_(model, probed_, pool) {
    prepare_blas();
    chain_.embed(loader_.load_entry());
  }

  /// Layers are taken in order, each once. `names`: the matrices that matter; `with_factors`: forms with zeros are
  /// also made by the final method. `known`: nothing is scored. Errors: those of `LayerSolver`.
  LayerLosses score(std::size_t layer, std::span<const std::string> names, bool with_factors, bool known) {
    LayerLosses result;
    const std::vector<float> entered = copy_of(rows_of(chain_.residual(), probed_rows()));
    chain_.enter(layer, loader_.load_layer(layer));
    std::vector<double> cheap_sums(forms_.size()), final_sums(forms_.size());
    std::vector<std::vector<Scored>> scored;
    for (const LinearRole role : layer_roles) {
      chain_.collect(role);
      chain_.advance(role);
      std::vector<std::string> wanted = names_of_item(model_, layer, role, names);
      if (known || wanted.empty()) continue;
      scored.push_back(score_role(role, wanted, with_factors));
      result.items.push_back(std::move(wanted));
    }
    if (known) return result;
    for (std::size_t item = 0; item < scored.size(); ++item) {
      const double scale = scale_of(layer, entered, scored[item]);
      for (std::size_t form = 0; form < forms_.size(); ++form) {
        const Scored& own = scored[item][form];
        for (std::size_t i = 0; i < result.items[item].size(); ++i) {
          result.losses[result.items[item][i]].push_back(own.losses.empty() ? -1 : scale * own.losses[i]);
          result.bytes[result.items[item][i]].push_back(own.bytes.empty() ? 0 : own.bytes[i]);
        }
        if (!own.final_loss) continue;
        cheap_sums[form] += scale * own.loss;
        final_sums[form] += scale * *own.final_loss;
      }
    }
    if (with_factors) {
      for (std::size_t form = 0; form < forms_.size(); ++form) {
        const bool is_known = cheap_sums[form] > 0 && final_sums[form] > 0;
        result.factors.push_back(is_known ? final_sums[form] / cheap_sums[form] : 1);
      }
    }
    return result;
  }

 private:
  /// A form of stacked matrices.
  struct Scored {
    std::vector<double> losses;        // of each matrix, by the cheap method; empty: the form does not fit
    std::vector<double> bytes;         // of each matrix; empty: its zeros do not change them
    std::optional<double> final_loss;  // of all, by the final method
    NamedMatrices probe;               // of one form
    double loss = 0;                   // the sum of `losses`
  };

  static LoadOptions one_thread() {
    LoadOptions options;
    options.threads = 1;
    return options;
  }
  static std::vector<float> copy_of(MatrixView<const float> rows) {
    return {rows.data, rows.data + rows.rows * rows.columns};
  }
  /// At most four: each role's probe runs them through the layer.
  static std::vector<std::vector<Token>> sequences_of(const TokenBatch& batch, std::size_t first) {
    constexpr std::size_t most = 4;
    std::vector<std::vector<Token>> sequences;
    for (std::size_t i = first; i < std::min(batch.size(), first + most); ++i) {
      sequences.emplace_back(batch[i].begin(), batch[i].end());
    }
    return sequences;
  }
  RowRange probed_rows() const noexcept {
    return {batch_.begin(probed_first_), batch_.begin(probed_first_) + probed_.tokens()};
  }

  /// Whether rows may have more zeros than others: `ell` pads those beside them.
  static bool has_free_zeros(const LayerPlan& plan) noexcept {
    return plan.pruning && plan.pruning->structure.kind == SparsityStructure::Kind::matrix;
  }

  /// Of the role that the chain has just gone past.
  std::vector<Scored> score_role(LinearRole role, const std::vector<std::string>& names, bool with_final) {
    std::vector<std::size_t> parts;
    std::size_t rows = 0;
    std::vector<std::shared_ptr<const WeightSource>> sources;
    for (const std::string& name : names) {
      sources.push_back(tensors_.matrix(name));
      parts.push_back(sources.back()->rows());
      rows += parts.back();
    }
    const std::size_t columns = sources.front()->columns();
    BasicMatrix<float> weights(rows, columns);
    const StackedRows stacked(sources);
    for (std::size_t row = 0; row < rows; ++row) stacked.decode_row(row, weights[row]);

    const bool adds = role == LinearRole::output || role == LinearRole::down;
    const auto statistics_of = [&](RowRange range) {
      LayerSamples samples{.inputs = rows_of(chain_.inputs(), range)};
      std::vector<float> token_weights;
      if (adds) token_weights = row_weights(rows_of(MatrixView<const float>(chain_.residual()), range));
      samples.weights = token_weights;
      return collect_statistics(samples, pool_);
    };
    const LayerStatistics statistics = statistics_of(calibration_);
    BasicMatrix<float> unseen(columns, columns);
    {
      const LayerStatistics sums = statistics_of(measured_);
      for (std::size_t i = 0; i < unseen.values.size(); ++i) unseen.values[i] = static_cast<float>(sums.hessian[i]);
    }
    const auto solve = [&](const LayerPlan& plan, Scored& result) {
      const CompressedLayer<float> solved = LayerSolver<float>(weights, parts, statistics, plan, pool_).solve();
      std::vector<double> losses = losses_of(weights, solved.weights, unseen, parts);
      if (result.losses.empty()) {
        result.losses = std::move(losses);
        std::size_t first = 0;
        for (std::size_t i = 0; i < names.size(); first += parts[i++]) {
          result.loss += result.losses[i];
          result.probe.emplace_back(names[i], solved_matrix(solved, {first, first + parts[i]}, plan, DType::f32));
          if (!has_free_zeros(plan)) continue;
          const AnyKernel::Weights packed = AnyKernel::pack(*result.probe.back().second, {.pool = &pool_});
          result.bytes.push_back(static_cast<double>(packed.size_bytes()));
        }
      } else {
        result.final_loss = 0;
        for (const double loss : losses) *result.final_loss += loss;
      }
    };
    std::vector<Scored> scored(forms_.size());
    std::size_t probe = forms_.size();
    bool probe_changes = false;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      if (!forms_[i].fits(columns)) continue;
      LayerPlan plan = forms_[i].plan();
      plan.target.alpha = 0;  // only dense inputs are there
      LayerPlan cheap = plan;
      if (cheap.pruning) cheap.pruning->method = PruningMethod::sparsegpt;
      solve(cheap, scored[i]);
      // The probe is the first form that changes something, int8 where there is no other: it is nearly exact.
      const bool changes = forms_[i].bits != 8 || forms_[i].sparsity > 0;
      if (probe == forms_.size() || (changes && !probe_changes)) {
        if (probe != forms_.size()) scored[probe].probe.clear();
        probe = i;
        probe_changes = changes;
      } else {
        scored[i].probe.clear();
      }
      if (with_final && plan.pruning) solve(plan, scored[i]);
    }
    return scored;
  }

  /// tr(dW H dW^T) of each part.
  std::vector<double> losses_of(const BasicMatrix<float>& dense, const BasicMatrix<float>& own,
                                const BasicMatrix<float>& hessian, const std::vector<std::size_t>& parts) {
    BasicMatrix<float> difference = own, product(own.rows, own.columns);
    for (std::size_t i = 0; i < difference.values.size(); ++i) difference.values[i] -= dense.values[i];
    multiply_rows<float>(pool_, std::as_const(difference).view(), hessian.view(), Transposed::no, product.view());
    std::vector<double> losses;
    std::size_t at = 0;
    for (const std::size_t rows : parts) {
      double sum = 0;
      for (const std::size_t end = at + rows * own.columns; at < end; ++at) {
        sum += static_cast<double>(product.values[at]) * static_cast<double>(difference.values[at]);
      }
      losses.push_back(std::max(sum, 0.0));
    }
    return losses;
  }

  /// Relative error of the layer's output for a loss of 1 in these matrices. The chain has left the layer.
  double scale_of(std::size_t layer, const std::vector<float>& entered, const std::vector<Scored>& scored) {
    const auto found =
        std::find_if(scored.begin(), scored.end(), [](const Scored& each) { return !each.probe.empty(); });
    if (found == scored.end() || found->loss <= 0) return 1;
    EditedTensors edited(&tensors_);
    for (const auto& [name, matrix] : found->probe) edited.replace(name, matrix);
    const WeightLoader<BlasLinear> loader(edited, model_, one_thread());
    std::copy(entered.begin(), entered.end(), probe_.residual().data);
    probe_.enter(layer, loader.load_layer(layer));
    for (const LinearRole role : layer_roles) {
      if (role != LinearRole::output && role != LinearRole::down) continue;
      probe_.collect(role);
      probe_.advance(role);
    }
    const double error =
        mean_stream_error(probed_, 0, probed_.size(), rows_of(chain_.residual(), probed_rows()), probe_.residual());
    return error > 0 ? error / found->loss : 1;
  }

  const Architecture& model_;
  const TensorSource& tensors_;
  const TokenBatch& batch_;
  std::span<const MatrixForm> forms_;
  ThreadPool& pool_;
  WeightLoader<BlasLinear> loader_;
  RowRange calibration_;
  std::size_t probed_first_;
  RowRange measured_;
  TokenBatch probed_;
  BlockChain chain_, probe_;
};

}  // namespace tulle
