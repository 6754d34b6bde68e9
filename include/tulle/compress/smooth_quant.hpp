// SPDX-License-Identifier: Apache-2.0
/// \file SmoothQuant: large activations move into the weights, where codes have a scale per row (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/smooth_quant_plan.hpp>
#include <tulle/core/error.hpp>

namespace tulle {

/// Divides the norm `mapping.smoothed` by a factor per channel, and multiplies the columns of the layers that read it:
/// the model computes the same. `activations` [channels]: the largest magnitudes that these layers read; `norm_offset` is
/// what the model adds to a norm's weights.
/// Source: Xiao et al. 2023, SmoothQuant, equation 4. Errors: unsupported where what is smoothed is no norm.
inline void smooth_layers(const SmoothQuantPlan& plan, const SmoothQuantPlan::Mapping& mapping,
                          std::span<const float> activations, float norm_offset, EditedTensors& tensors) {
  const EncodedTensor* norm = tensors.find(mapping.smoothed + ".weight");
  const std::size_t n = activations.size();
  if (norm == nullptr || n == 0 || norm->elements() != n) {
    fail(ErrorCode::unsupported, "SmoothQuant of ", mapping.smoothed,
         " is not possible here; smooth the norm that the layers read");
  }
  std::vector<float> weights(n), factors(n);
  std::vector<std::vector<float>> matrices;
  for (const std::string& name : mapping.balanced) {
    const auto matrix = tensors.matrix(name);
    if (matrix == nullptr || matrix->columns() != n)
      fail(ErrorCode::not_found, "SmoothQuant: there is no layer ", name);
    std::vector<float>& values = matrices.emplace_back(matrix->rows() * n);
    for (std::size_t row = 0; row < matrix->rows(); ++row) {
      matrix->decode_row(row, values.data() + row * n);
      for (std::size_t j = 0; j < n; ++j) weights[j] = std::max(weights[j], std::abs(values[row * n + j]));
    }
  }
  constexpr float least = 1e-5f;
  for (std::size_t j = 0; j < n; ++j) {
    const double x = std::max(activations[j], least), w = std::max(weights[j], least);
    const double factor =
        plan.is_logarithmic ? x / std::log2(2 + x) : std::pow(x, plan.strength) / std::pow(w, 1 - plan.strength);
    factors[j] = std::max(static_cast<float>(factor), least);
  }
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    std::vector<float>& values = matrices[i];
    for (std::size_t at = 0; at < values.size(); ++at) values[at] *= factors[at % n];
    tensors.replace(mapping.balanced[i], matrix_of_floats(values.size() / n, n, DType::f32, values));
  }
  for (const auto& [part, offset] : {std::pair{".weight", norm_offset}, std::pair{".bias", 0.0f}}) {
    const EncodedTensor* tensor = tensors.find(mapping.smoothed + part);
    if (tensor == nullptr) continue;
    std::vector<float> values = read_floats(tensors, *tensor);
    for (std::size_t j = 0; j < n; ++j) values[j] = (values[j] + offset) / factors[j] - offset;
    tensors.replace_values(mapping.smoothed + part, std::move(values));
  }
}

}  // namespace tulle
