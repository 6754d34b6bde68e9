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
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/layer_solver.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/compress/plan/loss_probes.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/solved_matrix.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/weight_loader.hpp>

namespace tulle {

/// Losses of a decoder layer: what a form adds to the relative error |x~ - x|^2 / |x|^2 of the residual stream at the end
/// of the model.
struct LayerLosses {
  std::vector<std::vector<std::string>> items;        ///< matrices that read the same input
  std::map<std::string, std::vector<double>> losses;  ///< of a matrix, one for each form; below 0: it does not fit
  std::vector<double> factors;  ///< of each form, in the layer where they were measured: final over cheap method
  /// Until all layers are done, losses are errors of the item's output. Of each item: that of its probe, and those of all
  /// forms by the final method (below 0: not measured).
  std::vector<double> probed;
  std::vector<std::vector<double>> finals;
};

inline Json losses_json(const LayerLosses& layer) {
  return {{"items", layer.items}, {"losses", layer.losses}, {"probed", layer.probed}, {"finals", layer.finals}};
}
inline LayerLosses layer_losses(const Json& json) {
  return {json.at("items"), json.at("losses"), {}, json.at("probed"), json.at("finals")};
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
/// For each role one form is put into the layer. What becomes of that at the end of the model (`LossProbes`) is the scale
/// of the role's losses. Threads: one call at a time.
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
        chain_(model, batch, pool),
        probes_(model, sequences_of(batch, probed_first_), pool) {
    prepare_blas();
    chain_.embed(loader_.load_entry());
  }

  /// Layers are taken in order, each once, by `score` or by `skip`. `names`: the matrices that matter; `with_finals`:
  /// forms with zeros are also made by the final method. Errors: those of `LayerSolver`.
  LayerLosses score(std::size_t layer, std::span<const std::string> names, bool with_finals) {
    LayerLosses result;
    const std::vector<float> entered = copy_of(rows_of(chain_.residual(), probed_rows()));
    enter(layer);
    for (const LinearRole role : layer_roles) {
      chain_.collect(role);
      chain_.advance(role);
      std::vector<std::string> wanted = names_of_item(model_, layer, role, names);
      if (wanted.empty()) continue;
      const std::vector<Scored> scored = score_role(role, wanted, with_finals);
      std::vector<double>& finals = result.finals.emplace_back();
      for (const Scored& form : scored) {
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          result.losses[wanted[i]].push_back(form.losses.empty() ? -1 : form.losses[i]);
        }
        finals.push_back(form.final_loss.value_or(-1));
      }
      result.probed.push_back(probe(layer, scored, entered));
      result.items.push_back(std::move(wanted));
    }
    return result;
  }

  /// The streams of the layer's probes, to be kept with what `score` gave.
  NamedMatrices streams(const LayerLosses& layer) const { return probes_.last(probes_of(layer)); }

  /// A layer that was scored before.
  void skip(std::size_t layer, const NamedMatrices& streams) {
    enter(layer);
    for (const LinearRole role : layer_roles) {
      chain_.collect(role);
      chain_.advance(role);
    }
    probes_.restore(streams);
  }

  /// When all layers are done: what their losses are at the end of the model.
  void finish(std::span<LayerLosses> layers) {
    std::size_t stream = 0;
    for (LayerLosses& layer : layers) {
      std::vector<double> cheap(forms_.size()), final(forms_.size());
      for (std::size_t item = 0; item < layer.items.size(); ++item) {
        const double probed = layer.probed[item];
        const double error = probed > 0 ? probes_.error(stream++, dense_end()) : 0;
        const double scale = error > 0 ? error / probed : 1;
        for (const std::string& name : layer.items[item]) {
          for (double& loss : layer.losses.at(name)) loss *= loss < 0 ? 1 : scale;
        }
        for (std::size_t form = 0; form < forms_.size(); ++form) {
          if (layer.finals[item][form] < 0) continue;
          final[form] += scale * layer.finals[item][form];
          for (const std::string& name : layer.items[item]) cheap[form] += layer.losses.at(name)[form];
        }
      }
      if (std::none_of(final.begin(), final.end(), [](double sum) { return sum > 0; })) continue;
      for (std::size_t form = 0; form < forms_.size(); ++form) {
        layer.factors.push_back(cheap[form] > 0 && final[form] > 0 ? final[form] / cheap[form] : 1);
      }
    }
  }

 private:
  /// A form of stacked matrices.
  struct Scored {
    std::vector<double> losses;        // of each matrix, by the cheap method; empty: the form does not fit
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
  /// At most two: each role's probe takes them through all layers that follow.
  static std::vector<std::vector<Token>> sequences_of(const TokenBatch& batch, std::size_t first) {
    constexpr std::size_t most = 2;
    std::vector<std::vector<Token>> sequences;
    for (std::size_t i = first; i < std::min(batch.size(), first + most); ++i) {
      sequences.emplace_back(batch[i].begin(), batch[i].end());
    }
    return sequences;
  }
  RowRange probed_rows() const noexcept {
    return {batch_.begin(probed_first_), batch_.begin(probed_first_) + probes_.tokens()};
  }
  MatrixView<const float> dense_end() noexcept { return rows_of(chain_.residual(), probed_rows()); }

  static std::size_t probes_of(const LayerLosses& layer) noexcept {
    return static_cast<std::size_t>(
        std::count_if(layer.probed.begin(), layer.probed.end(), [](double loss) { return loss > 0; }));
  }

  void enter(std::size_t layer) {
    const LayerWeights<BlasLinear> dense = loader_.load_layer(layer);
    probes_.pass(layer, dense);
    chain_.enter(layer, dense);
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
        }
      } else {
        result.final_loss = 0;
        for (const double loss : losses) *result.final_loss += loss;
      }
    };
    std::vector<Scored> scored(forms_.size());
    bool has_probe = false;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      if (!forms_[i].fits(columns)) continue;
      LayerPlan plan = forms_[i].plan();
      plan.target.alpha = 0;  // only dense inputs are there
      LayerPlan cheap = plan;
      if (cheap.pruning) cheap.pruning->method = PruningMethod::sparsegpt;
      solve(cheap, scored[i]);
      if (has_probe) scored[i].probe.clear();
      // The probe is a form that changes something: int8 is nearly exact.
      has_probe = has_probe || forms_[i].bits != 8 || forms_[i].sparsity > 0;
      if (!has_probe) scored[i].probe.clear();
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

  /// Puts one form into the layer and begins its stream. Returns the form's loss; 0 without such a form.
  double probe(std::size_t layer, const std::vector<Scored>& scored, const std::vector<float>& entered) {
    const auto found =
        std::find_if(scored.begin(), scored.end(), [](const Scored& each) { return !each.probe.empty(); });
    if (found == scored.end() || found->loss <= 0) return 0;
    EditedTensors edited(&tensors_);
    for (const auto& [name, matrix] : found->probe) edited.replace(name, matrix);
    probes_.add(layer, WeightLoader<BlasLinear>(edited, model_, one_thread()).load_layer(layer), entered);
    return found->loss;
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
  BlockChain chain_;
  LossProbes probes_;
};

}  // namespace tulle
