// SPDX-License-Identifier: Apache-2.0
/// \file Rows of floats of 8 bits, alone or with scales beside them: compressed-tensors' float-quantized (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tulle/format/encoding/coded_rows.hpp>
#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

inline constexpr RowEncoding f8_e4m3_rows{DType::f8_e4m3, {.floats = DType::f16}};
inline constexpr RowEncoding f8_e5m2_rows{DType::f8_e5m2, {.floats = DType::f16}};

/// Floats of another source times scales.
class ScaledRows final : public WeightSource {
 public:
  /// scales without zero points
  ScaledRows(std::shared_ptr<const WeightSource> rows, CodeScales scales)
      : rows_(std::move(rows)),
        scales_(std::move(scales)),
        groups_(CodeFormat{.group = scales_.group}.groups(columns())) {
    if (!scales_.group_of.empty()) groups_ = scales_.scales.size() / std::max<std::size_t>(1, rows_->rows());
    if (scales_.scales.size() == 1) scales_.scales.resize(rows_->rows() * groups_, scales_.scales[0]);
  }

  std::size_t rows() const noexcept override { return rows_->rows(); }
  std::size_t columns() const noexcept override { return rows_->columns(); }
  CodeFormat code_format() const noexcept override { return {}; }
  std::size_t size_bytes() const noexcept override {
    return rows_->size_bytes() + scales_.scales.size() * sizeof(float);
  }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const ScaledRows>(rows_->copied(), scales_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    rows_->decode(rows, out);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* scale = scales_.scales.data() + rows[i] * groups_;
      for (std::size_t column = 0; column < columns(); ++column) out[i][column] *= scale[scales_.group_at(column)];
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  std::shared_ptr<const WeightSource> rows_;
  CodeScales scales_;
  std::size_t groups_;
};

/// `rows` themselves, or times what `read_code_scales` reads for `weight` ("P.weight") where scales lie beside `tensor`.
/// Errors: as that; unsupported with zero points.
inline std::shared_ptr<const WeightSource> scaled_rows(std::shared_ptr<const WeightSource> rows,
                                                       const TensorSource& source, const EncodedTensor& tensor,
                                                       const std::string& weight) {
  if (source.find(scale_name(weight)) == nullptr) return rows;
  CodeScales scales = read_code_scales(source, tensor, weight, rows->rows(), rows->columns(), 8);
  for (const std::int8_t zero : scales.zeros) {
    if (zero != 0) detail::fail_tensor(tensor, "has zero points, which floats have not", ErrorCode::unsupported);
  }
  return std::make_shared<const ScaledRows>(std::move(rows), std::move(scales));
}

}  // namespace tulle
