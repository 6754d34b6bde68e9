// SPDX-License-Identifier: Apache-2.0
/// \file The weights that `tulle benchmark` measures.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/kernel/any_kernel.hpp>

#include "pruning.hpp"

/// A source of tensors, and the data to load it with different kernels.
class BenchmarkSubject {
 public:
  /// One of `synthetic_shapes`.
  static BenchmarkSubject of_shape(const std::string& shape, const Pruning& pruning);
  /// A file or directory; where it is not pruned its sparsity is measured. Errors: those of `tulle::Checkpoint::open`.
  static BenchmarkSubject of_model(const std::string& path, const std::vector<tulle::AdapterPath>& adapters,
                                   const Pruning& pruning);

  const std::string& name() const noexcept { return name_; }
  const std::string& path() const noexcept { return path_; }      ///< empty for a shape
  const std::string& caveat() const noexcept { return caveat_; }  ///< empty for an unchanged model
  std::string structure() const {
    return std::string(structure_);
  }  ///< the sparsity structure of most of the linear weights
  double sparsity() const noexcept { return sparsity_; }

  /// Shows a bar on stderr when that takes long. Errors: those of `tulle::Model::load`.
  std::shared_ptr<const tulle::Model<tulle::AnyKernel>> load(const std::string& kernel) const;

 private:
  BenchmarkSubject() = default;

  void measure_zeros();

  std::string name_, path_, caveat_;
  std::string_view structure_ = "dense";
  double sparsity_ = 0;
  tulle::Architecture architecture_;
  std::shared_ptr<const tulle::Checkpoint> checkpoint_;
  std::shared_ptr<const tulle::TensorSource> source_;
  tulle::LoadOptions options_;
};
