// SPDX-License-Identifier: Apache-2.0
/// \file A checkpoint whose linear layers are quantized to int8 and pruned by magnitude as they are read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <vector>

#include "linear_tensors.hpp"
#include "pruning.hpp"

/// Makes a matrix on demand and frees it on release, so that few at a time are in memory. A released matrix is made
/// again on the next access. Lifetime: `source` must outlive it. Not thread-safe.
class PrunedTensors final : public tulle::TensorSource {
 public:
  /// `model` describes `source`. Its head is pruned too: a tied one becomes a separate tensor, so load from here with a
  /// description whose `tied_head` is false.
  PrunedTensors(const tulle::TensorSource& source, const tulle::Architecture& model, const Pruning& pruning);

  const tulle::EncodedTensor* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  std::shared_ptr<const tulle::WeightSource> matrix(const std::string& name) const override;
  void release(std::span<const std::byte> bytes) const noexcept override;

 private:
  struct Matrix {
    std::string source_name;  // without ".weight"
    std::size_t rows, columns;
    I8Matrix values;
    tulle::EncodedTensor weight, scale;
  };

  bool make(Matrix& matrix) const;

  const tulle::TensorSource& source_;
  Pruning pruning_;
  mutable std::map<std::string, Matrix, std::less<>> matrices_;
};
