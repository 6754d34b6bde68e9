// SPDX-License-Identifier: Apache-2.0
/// \file Models of known shapes with meaningless weights.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tulle/core/half.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <utility>
#include <vector>

#include "pruning.hpp"

/// The last is Qwen3-30B-A3B with 12 of its 48 layers.
inline constexpr std::array<std::string_view, 6> synthetic_shapes{"codegen-350m", "codegen-6b",  "tinyllama-1.1b",
                                                                  "smollm2-135m", "olmoe-1b-7b", "qwen3-30b-a3b-cut"};

/// One of `synthetic_shapes`. The head is a separate matrix, also where the real model ties it to the embedding: an
/// int8 head is separate in memory anyway.
tulle::Architecture synthetic_architecture(std::string_view shape);

/// Linear layers in I8 with a scale per row, as compressed-tensors writes them; the embedding in F16, the rest in F32.
/// Tensors of equal shape share their bytes, so that the source of a large model stays small.
class SyntheticTensors final : public tulle::TensorSource {
 public:
  SyntheticTensors(const tulle::Architecture& model, const Pruning& pruning);

  const tulle::EncodedTensor* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  std::shared_ptr<const tulle::WeightSource> matrix(const std::string& name) const override;

 private:
  void add(const std::string& name, tulle::DType dtype, std::vector<std::size_t> shape, const void* bytes);
  void add_matrix(const std::string& name, std::size_t rows, std::size_t columns, const Pruning& pruning);
  void add_vector(const std::string& name, std::size_t size, float value);
  void add_norm(const std::string& name, const tulle::Architecture& model);
  void add_router(const std::string& name, std::size_t experts, std::size_t hidden);  ///< each another random one

  std::map<std::pair<std::size_t, std::size_t>, I8Matrix> matrices_;     // by rows and columns
  std::map<std::pair<std::size_t, float>, std::vector<float>> vectors_;  // by size and value
  std::vector<tulle::Half> embedding_;
  std::vector<std::vector<float>> routers_;
  std::map<std::string, tulle::EncodedTensor, std::less<>> tensors_;
};
