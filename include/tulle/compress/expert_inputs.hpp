// SPDX-License-Identifier: Apache-2.0
/// \file What the experts of a mixture read of the calibration tokens (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include <tulle/compress/blas_linear.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/mlp.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// An expert that saw fewer tokens is rounded to the nearest: they say too little of it.
inline constexpr std::size_t min_expert_rows = 32;

/// Statistics of what an expert reads, of the compressed and, unless that is empty, of the dense model. Of too few rows
/// they are those of inputs that have nothing to do with each other. Errors: memory.
inline LayerStatistics expert_statistics(MatrixView<const float> own, MatrixView<const float> dense, ThreadPool& pool) {
  if (own.rows >= min_expert_rows) return collect_statistics({.inputs = own, .dense_inputs = dense}, pool);
  LayerStatistics statistics;
  statistics.columns = own.columns;
  for (AlignedBuffer<double>* moments : {&statistics.hessian, &statistics.cross}) {
    if (moments == &statistics.cross && dense.data == nullptr) continue;
    *moments = AlignedBuffer<double>(own.columns * own.columns);
    for (std::size_t i = 0; i < own.columns; ++i) (*moments)[i * own.columns + i] = 1;
  }
  return statistics;
}

/// The tokens that go to each expert of a layer, by the router of the compressed model. Experts are solved one after the
/// other, each on its own tokens.
class ExpertInputs {
 public:
  /// `inputs` [tokens, hidden]: what router and experts read. `model` must outlive the object. Errors: memory.
  ExpertInputs(const Architecture& model, const LayerSpec& spec, const RouterWeights& router,
               MatrixView<const float> inputs)
      : model_(model), spec_(spec), tokens_(spec.experts.count) {
    ExpertChoice choice(1, spec.experts.count, spec.experts.per_row);
    for (std::size_t token = 0; token < inputs.rows; ++token) {
      choice.choose(spec.experts, router, inputs[token], model.hidden, 0);
      choice.group(1, spec.experts);
      for (std::size_t expert = 0; expert < spec.experts.count; ++expert) {
        if (!choice.rows_of(expert).empty()) tokens_[expert].push_back(token);
      }
    }
    all_.resize(inputs.rows);
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  /// The tokens of an expert; those of the one that all share follow the others'.
  const std::vector<std::size_t>& tokens(std::size_t expert) const noexcept {
    return expert < tokens_.size() ? tokens_[expert] : all_;
  }

  /// Their rows of `inputs`.
  BasicMatrix<float> rows(std::size_t expert, MatrixView<const float> inputs) const {
    const std::vector<std::size_t>& chosen = tokens(expert);
    BasicMatrix<float> rows(chosen.size(), inputs.columns);
    for (std::size_t i = 0; i < chosen.size(); ++i) std::copy_n(inputs[chosen[i]], inputs.columns, rows[i]);
    return rows;
  }

  /// What `down` reads where the matrix `up` reads `x`.
  BasicMatrix<float> activated(const Linear<BlasLinear>& up, BasicMatrix<float>& x) const {
    if (x.rows == 0) return {0, up.rows() / (is_gated(spec_.mlp) ? 2 : 1)};
    ThreadPool one(1);  // the values must not depend on how many threads there are
    LinearRunner<BlasLinear> runner(one, x.rows, model_.hidden);
    Mlp<BlasLinear> mlp(model_, runner, x.rows);
    runner.prepare(up, {x.values.data(), x.rows, x.columns});
    const MatrixView<float> inner = mlp.up(up, spec_.mlp, x.rows);
    BasicMatrix<float> result(inner.rows, inner.columns);
    for (std::size_t row = 0; row < inner.rows; ++row) std::copy_n(inner[row], inner.columns, result[row]);
    return result;
  }

 private:
  const Architecture& model_;
  const LayerSpec& spec_;
  std::vector<std::vector<std::size_t>> tokens_;  // of each expert
  std::vector<std::size_t> all_;
};

}  // namespace tulle
