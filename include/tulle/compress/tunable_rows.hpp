// SPDX-License-Identifier: Apache-2.0
/// \file The stacked matrix of a role, of which some rows may move (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/blas_linear.hpp>
#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/tunable_matrix.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/decoder_observer.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/matrix.hpp>
#include <tulle/tensor/row_order.hpp>

namespace tulle {

/// Where the rows of a role's stacked matrix lie in the checkpoint's tensors: index in `layer_names`, and row.
inline std::vector<std::pair<std::size_t, std::size_t>> stacked_rows(const Architecture& model, std::size_t layer,
                                                                     LinearRole role) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  const auto take = [&](std::size_t tensor, std::size_t count, const RowOrder& order) {
    for (std::size_t i = 0; i < count; ++i) places.emplace_back(tensor, order.as_it_lies() ? i : order[i]);
  };
  const LayerSpec& spec = model.layers[layer];
  if (role == LinearRole::query_key_value) {
    const std::size_t apart = model.names.query_key_value.empty() ? 1 : 0;
    take(0, model.query_rows(), model.query_order);
    take(apart, model.kv_rows(), model.key_order);
    take(2 * apart, model.kv_rows(), model.value_order);
  } else if (role == LinearRole::up) {
    const std::size_t rows = model.up_tensor_rows(spec);
    for (std::size_t i = 0; i < spec.up_rows(); ++i) places.emplace_back(i / rows, i % rows);
  } else {
    take(0, model.hidden, {});
  }
  return places;
}

/// Values [rows, columns] of all tensors of a role, in the order in which they are multiplied.
/// Threads: calls for different rows may run concurrently.
class TunableRows {
 public:
  /// `linear`: the values as they are. `dense`: the model before compression. `keeps_zeros(name)`: nothing for a tensor
  /// that does not move.
  template <class KeepsZeros>
  TunableRows(const Architecture& model, std::size_t layer, LinearRole role, const Linear<BlasLinear>& linear,
              const TensorSource& tensors, const TensorSource& dense, KeepsZeros&& keeps_zeros)
      : values_(linear.rows(), linear.columns()), names_(layer_names(model, layer, role)) {
    for (const auto& part : linear.parts) {
      const auto from = part.weights.view();
      std::copy_n(from.data, from.rows * from.columns, values_[part.first_row]);
    }
    places_ = stacked_rows(model, layer, role);
    for (const std::string& name : names_) {
      const std::optional<bool> keeps = keeps_zeros(name);
      tensors_.push_back(keeps ? std::make_unique<TunableMatrix>(*tensors.matrix(name), *dense.matrix(name), *keeps)
                               : nullptr);
    }
  }

  std::size_t rows() const noexcept { return values_.rows; }
  bool may_move() const noexcept {
    return std::any_of(tensors_.begin(), tensors_.end(), [](const auto& tensor) { return tensor != nullptr; });
  }
  MatrixView<float> values() noexcept { return values_.view(); }

  /// A step of one row along its gradient, which is changed; then its new values.
  void step(std::size_t row, std::span<float> gradient, const AdamStep& step) noexcept {
    const auto& [tensor, own] = places_[row];
    if (tensors_[tensor] == nullptr) return;
    tensors_[tensor]->step(own, gradient, step);
    tensors_[tensor]->row(own, values_[row]);
  }

  /// Keeps the present state as the best one, and goes back to it.
  void keep() {
    for_each([](const std::string&, TunableMatrix& matrix) { matrix.keep(); });
  }
  void restore() {
    for_each([](const std::string&, TunableMatrix& matrix) { matrix.restore(); });
    for (std::size_t row = 0; row < values_.rows; ++row) {
      const auto& [tensor, own] = places_[row];
      if (tensors_[tensor] != nullptr) tensors_[tensor]->row(own, values_[row]);
    }
  }
  NamedMatrices matrices() {
    NamedMatrices all;
    for_each([&](const std::string& name, TunableMatrix& matrix) { all.emplace_back(name, matrix.matrix()); });
    return all;
  }

 private:
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (tensors_[i] != nullptr) visit(names_[i], *tensors_[i]);
    }
  }

  Matrix values_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<TunableMatrix>> tensors_;  // null: its rows stay
  std::vector<std::pair<std::size_t, std::size_t>> places_;
};

}  // namespace tulle
