// SPDX-License-Identifier: Apache-2.0
/// \file A compressed weight matrix in memory: floats, or integer codes with scales (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/tensor/float_elements.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// A matrix of floats in memory. Threads: immutable.
class MatrixOfFloats final : public WeightSource {
 public:
  /// `bytes`: values of `type` (F32, F16 or BF16) [rows, columns]. Lifetime: that of `owner`.
  MatrixOfFloats(std::size_t rows, std::size_t columns, DType type, std::span<const std::byte> bytes,
                 std::shared_ptr<const void> owner)
      : rows_(rows), columns_(columns), type_(type), bytes_(bytes), owner_(std::move(owner)) {}

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return {.floats = type_}; }
  std::size_t size_bytes() const noexcept override { return bytes_.size(); }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const MatrixOfFloats>(*this); }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    const std::size_t row_bytes = bytes_.size() / rows_;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      decode_floats(type_, bytes_.data() + rows[i] * row_bytes, columns_, out[i]);
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  std::size_t rows_, columns_;
  DType type_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

/// A matrix of integer codes in memory, a byte each. Threads: immutable.
class MatrixOfCodes final : public WeightSource {
 public:
  /// codes [rows, columns]; scales and, where codes have minimums, minimums [rows, groups].
  struct Values {
    std::span<const std::int8_t> codes;
    std::span<const float> scales, minimums;
  };

  /// Lifetime of `values`: that of `owner`.
  MatrixOfCodes(std::size_t rows, std::size_t columns, CodeFormat format, Values values,
                std::shared_ptr<const void> owner)
      : rows_(rows), columns_(columns), format_(format), values_(values), owner_(std::move(owner)) {
    const auto exact = [](float value) { return to_float(to_half(value)) == value; };
    format_.has_minimums = !values_.minimums.empty();
    format_.half_scales = std::all_of(values_.scales.begin(), values_.scales.end(), exact) &&
                          std::all_of(values_.minimums.begin(), values_.minimums.end(), exact);
  }

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return format_; }
  std::size_t size_bytes() const noexcept override {
    const std::size_t scale_bytes = format_.half_scales ? 2 : 4;
    return rows_ * columns_ * format_.bits / 8 + (values_.scales.size() + values_.minimums.size()) * scale_bytes;
  }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const MatrixOfCodes>(*this); }
  const Values& values() const noexcept { return values_; }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    const std::size_t groups = format_.groups(columns_), width = format_.group == 0 ? columns_ : format_.group;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int8_t* codes = values_.codes.data() + rows[i] * columns_;
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::size_t at = rows[i] * groups + column / width;
        const float code = format_.has_minimums ? static_cast<float>(static_cast<std::uint8_t>(codes[column]))
                                                : static_cast<float>(codes[column]);
        out[i][column] = values_.scales[at] * code + (format_.has_minimums ? values_.minimums[at] : 0.0f);
      }
    }
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const std::size_t groups = format_.groups(columns_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values_.codes.data() + rows[i] * columns_, columns_, out[i]);
      std::copy_n(values_.scales.data() + rows[i] * groups, groups, scales + i * groups);
      if (format_.has_minimums) std::copy_n(values_.minimums.data() + rows[i] * groups, groups, minimums + i * groups);
    }
  }

 private:
  std::size_t rows_, columns_;
  CodeFormat format_;
  Values values_;
  std::shared_ptr<const void> owner_;
};

/// Codes [rows, columns], scales and (unless empty) minimums [rows, groups] of `MatrixOfCodes`.
struct OwnedCodes {
  std::vector<std::int8_t> codes;
  std::vector<float> scales, minimums;
};

inline std::shared_ptr<const MatrixOfCodes> matrix_of_codes(std::size_t rows, std::size_t columns,
                                                            const CodeFormat& format, OwnedCodes values) {
  const auto owner = std::make_shared<const OwnedCodes>(std::move(values));
  return std::make_shared<const MatrixOfCodes>(
      rows, columns, format, MatrixOfCodes::Values{owner->codes, owner->scales, owner->minimums}, owner);
}

/// Matrices by the names of their layers.
using NamedMatrices = std::vector<std::pair<std::string, std::shared_ptr<const WeightSource>>>;

/// `values` [rows, columns] rounded to `type`.
inline std::shared_ptr<const MatrixOfFloats> matrix_of_floats(std::size_t rows, std::size_t columns, DType type,
                                                              std::span<const float> values) {
  const std::size_t element = type == DType::f32 ? 4 : 2;
  const auto owner = std::make_shared<std::vector<std::byte>>(values.size() * element);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::byte* at = owner->data() + i * element;
    const Half half = to_half(values[i]);
    const BFloat16 bfloat = to_bfloat16(values[i]);
    const void* from = type == DType::f16 ? static_cast<const void*>(&half) : &bfloat;
    std::memcpy(at, type == DType::f32 ? static_cast<const void*>(&values[i]) : from, element);
  }
  return std::make_shared<const MatrixOfFloats>(rows, columns, type, *owner, owner);
}

}  // namespace tulle
