// SPDX-License-Identifier: Apache-2.0
/// \file The MLP of a layer: one, or a mixture of experts (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/expert_choice.hpp>
#include <tulle/model/linear_runner.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// Buffers and steps. Threads: one call at a time.
template <LinearKernel Kernel>
class Mlp {
 public:
  /// Room for `max_rows` rows. `model` and `runner` must outlive it. Errors: memory.
  Mlp(const Architecture& model, LinearRunner<Kernel>& runner, std::size_t max_rows)
      : model_(model),
        runner_(runner),
        up_(max_rows * model.max_up_rows()),
        choice_(max_rows, model.max_experts(), model.max_experts_per_row()),
        gathered_(model.max_experts() == 0 ? 0 : max_rows * model.hidden),
        mixed_(model.max_experts() == 0 ? 0 : max_rows * model.hidden) {}

  std::size_t size_bytes() const noexcept {
    return sizeof(float) * (up_.size() + gathered_.size() + mixed_.size()) + choice_.size_bytes();
  }

  /// The product with gate and up of what was prepared for it, and the activation: what `down` reads [count, columns].
  MatrixView<float> up(const Linear<Kernel>& linear, MlpKind kind, std::size_t count) noexcept {
    const std::size_t rows = linear.rows();
    const MatrixView<float> y{up_.data(), count, rows};
    if (!is_gated(kind)) {
      const auto activate = kind == MlpKind::gelu ? gelu_new<> : kind == MlpKind::gelu_erf ? gelu_erf<> : relu;
      runner_.multiply(linear, y, [&](std::size_t first, std::size_t last) noexcept {
        for (std::size_t row = 0; row < count; ++row) activate(y[row] + first, last - first);
      });
      return y;
    }
    runner_.multiply(linear, y);  // gate and up rows of one column may be computed by two workers
    const std::size_t columns = rows / 2;
    const auto activate = [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) activate_gate(kind, y[row], y[row] + columns, columns);
    };
    for_rows(runner_.pool(), count, activate, 2);
    return {up_.data(), count, columns, rows};
  }

  /// What the experts that each row of x [rows, hidden] chooses make of it, weighted and summed in the order of the
  /// experts, and what the expert that all rows share makes of it: out [rows, hidden]. Experts that no row chose are not
  /// read. Rows are not mixed, so a row's bits do not depend on its neighbours.
  void mix(const LayerSpec& spec, const LayerWeights<Kernel>& weights, MatrixView<float> x,
           MatrixView<float> out) noexcept {
    for_rows(runner_.pool(), x.rows, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        choice_.choose(spec.experts, weights.router, x[row], model_.hidden, row);
        std::fill_n(out[row], model_.hidden, 0.0f);
      }
    });
    choice_.group(x.rows, spec.experts);
    for (std::size_t expert = 0; expert < spec.experts.count; ++expert) {
      const std::span<const ChosenRow> rows = choice_.rows_of(expert);
      if (rows.empty()) continue;
      const MatrixView<float> own{gathered_.data(), rows.size(), model_.hidden};
      for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(x[rows[i].row], model_.hidden, own[i]);
      add_expert(weights.experts[expert].up, weights.experts[expert].down, spec.mlp, own, rows, out);
    }
    if (spec.experts.shared_intermediate != 0) add_shared(spec, weights, x, out);
  }

 private:
  static void activate_gate(MlpKind kind, float* gate, const float* up, std::size_t columns) noexcept {
    if (kind == MlpKind::gated_silu) return silu_times<>(gate, up, columns, gate);
    if (kind == MlpKind::gated_gelu) return gelu_times<>(gate, up, columns, gate);
    clamped_silu_times(gate, up, columns, gate);
  }

  /// out[rows] += weight * down(activation(up(x))).
  void add_expert(const Linear<Kernel>& up_linear, const Linear<Kernel>& down, MlpKind kind, MatrixView<float> x,
                  std::span<const ChosenRow> rows, MatrixView<float> out) noexcept {
    runner_.prepare(up_linear, x);
    const MatrixView<float> inner = up(up_linear, kind, x.rows);
    runner_.prepare(down, inner);
    const MatrixView<float> y{mixed_.data(), x.rows, model_.hidden};
    runner_.multiply(down, y, [&](std::size_t first, std::size_t last) noexcept {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        scale(rows[i].weight, last - first, y[i] + first);
        add(y[i] + first, last - first, out[rows[i].row] + first);
      }
    });
  }

  /// The expert that all rows share, by the sigmoid of its own gate where it has one.
  void add_shared(const LayerSpec& spec, const LayerWeights<Kernel>& weights, MatrixView<float> x,
                  MatrixView<float> out) noexcept {
    const std::span<ChosenRow> rows = choice_.all_rows(x.rows);
    for (ChosenRow& chosen : rows) {
      if (weights.shared_gate.empty()) continue;
      float score = 0;
      for (std::size_t i = 0; i < model_.hidden; ++i) score += weights.shared_gate[i] * x[chosen.row][i];
      chosen.weight = 1 / (1 + std::exp(-score));
    }
    add_expert(weights.up, weights.down, spec.mlp, x, rows, out);
  }

  const Architecture& model_;
  LinearRunner<Kernel>& runner_;
  AlignedBuffer<float> up_;
  ExpertChoice choice_;
  AlignedBuffer<float> gathered_, mixed_;  // rows of one expert: what it reads, what it gives
};

}  // namespace tulle
