// SPDX-License-Identifier: Apache-2.0
/// \file What a solver found for stacked layers, as one matrix for each (L5).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <tulle/compress/column_compensation.hpp>
#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/layer_solver.hpp>
#include <tulle/core/types.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// In which floats without codes are stored: the source's type, and F16 for dequantized codes.
inline DType stored_type(const WeightSource& source) {
  const CodeFormat format = source.code_format();
  return format.bits == 0 ? format.floats : DType::f16;
}

/// Rows `range` of a solution. Without codes the values are rounded to `type`.
inline std::shared_ptr<const WeightSource> solved_matrix(const CompressedLayer<float>& solved, RowRange range,
                                                         const LayerPlan& plan, DType type) {
  const std::size_t n = solved.weights.columns, rows = range.count();
  if (!solved.coded) return matrix_of_floats(rows, n, type, {solved.weights[range.begin], rows * n});
  const QuantizationPlan& quantization = *plan.quantization;
  const std::size_t groups = scale_groups(quantization, n);
  OwnedCodes values;
  const auto codes = std::span(solved.coded->codes).subspan(range.begin * n, rows * n);
  values.codes.assign(codes.begin(), codes.end());
  for (const CodeScale<float>& scale : std::span(solved.coded->scales).subspan(range.begin * groups, rows * groups)) {
    values.scales.push_back(scale.scale);
    if (!quantization.symmetric) values.minimums.push_back(scale.value(0));
  }
  return matrix_of_codes(rows, n, {.bits = quantization.bits, .group = quantization.group}, std::move(values));
}

}  // namespace tulle
