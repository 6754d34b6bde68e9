// SPDX-License-Identifier: Apache-2.0
/// \file Models of random codes in memory, as compression hands them over.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/format/output_tensor.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/weight_source.hpp>

#include "unit/model/random_model.hpp"

namespace tulle::testing {

/// Random codes, of which a share is zero; scales in F16 unless a row shares one. With `zero_points` minimums are a
/// whole number of scales, and exact in F16 as these are.
class MadeMatrix final : public WeightSource {
 public:
  MadeMatrix(std::size_t rows, std::size_t columns, CodeFormat format, double zeros = 0, std::uint32_t seed = 1,
             bool zero_points = false)
      : rows_(rows), columns_(columns), format_(format) {
    Numbers numbers(seed);
    const auto levels = std::size_t{1} << format.bits;
    for (std::size_t i = 0; i < rows * columns; ++i) {
      const auto level = static_cast<int>(numbers.below(levels));
      const bool is_zero = static_cast<double>(numbers.below(1000)) < 1000 * zeros;
      codes_.push_back(
          static_cast<std::int8_t>(is_zero ? 0 : level - (format.has_minimums ? 0 : static_cast<int>(levels / 2))));
    }
    for (std::size_t i = 0; i < rows * format.groups(columns); ++i) {
      const float scale = 0.001f + 0.0001f * static_cast<float>(numbers.below(100));
      Half half = to_half(scale);
      if (zero_points) half.bits &= 0xfff0;
      scales_.push_back(format.half_scales ? to_float(half) : scale);
      const float zero = zero_points ? static_cast<float>(numbers.below(levels)) : 7.3f;
      minimums_.push_back(format.has_minimums ? -zero * scales_.back() : 0);
    }
  }

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return format_; }
  std::size_t size_bytes() const noexcept override { return codes_.size(); }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const MadeMatrix>(*this); }
  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::size_t at = rows[i] * groups() + (format_.group == 0 ? 0 : column / format_.group);
        const std::int8_t code = codes_[rows[i] * columns_ + column];
        const int value = format_.has_minimums ? static_cast<std::uint8_t>(code) : code;
        out[i][column] = static_cast<float>(value) * scales_[at] + minimums_[at];
      }
    }
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(&codes_[rows[i] * columns_], columns_, out[i]);
      std::copy_n(&scales_[rows[i] * groups()], groups(), scales + i * groups());
      if (minimums != nullptr) std::copy_n(&minimums_[rows[i] * groups()], groups(), minimums + i * groups());
    }
  }

 private:
  std::size_t groups() const noexcept { return format_.groups(columns_); }

  std::size_t rows_, columns_;
  CodeFormat format_;
  std::vector<std::int8_t> codes_;
  std::vector<float> scales_, minimums_;
};

/// The tensors of another source, some of whose matrices are replaced.
class MadeModel final : public TensorSource {
 public:
  MemorySource tensors;

  /// Replaces a matrix, or adds one.
  void put(const std::string& layer, std::shared_ptr<const WeightSource> matrix) {
    tensors.put(layer + ".weight", DType::u8, {matrix->rows(), matrix->columns()},
                std::vector<std::byte>(matrix->rows() * matrix->columns()));
    matrices_[layer] = std::move(matrix);
  }
  void put(const std::string& layer, std::size_t rows, std::size_t columns, CodeFormat format, double zeros = 0) {
    put(layer, std::make_shared<const MadeMatrix>(rows, columns, format, zeros,
                                                  static_cast<std::uint32_t>(matrices_.size() + 1)));
  }

  const EncodedTensor* find(std::string_view name) const override { return tensors.find(name); }
  std::vector<std::string> names() const override { return tensors.names(); }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    const auto found = matrices_.find(name);
    return found == matrices_.end() ? tensors.matrix(name) : found->second;
  }

 private:
  std::map<std::string, std::shared_ptr<const WeightSource>> matrices_;
};

inline constexpr CodeFormat int8_rows{.bits = 8};
inline constexpr CodeFormat int4_groups{.bits = 4, .group = 32, .half_scales = true};

/// The tensors of an exported form, as a reader finds them.
inline MemorySource written(const std::vector<OutputTensor>& tensors) {
  MemorySource source;
  for (const OutputTensor& tensor : tensors) {
    std::vector<std::byte> bytes;
    tensor.write([&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
    source.put(tensor.name, tensor.dtype, tensor.shape, std::move(bytes));
  }
  return source;
}

/// All values of a matrix, row after row.
inline std::vector<float> values_of(const WeightSource& matrix) {
  std::vector<float> values(matrix.rows() * matrix.columns());
  for (std::size_t row = 0; row < matrix.rows(); ++row) matrix.decode_row(row, &values[row * matrix.columns()]);
  return values;
}

/// Values, and codes and scales where the matrix has them.
inline bool same_matrix(const WeightSource& a, const WeightSource& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns() || a.code_format() != b.code_format()) return false;
  if (values_of(a) != values_of(b)) return false;
  if (a.code_format().bits == 0) return true;
  const std::size_t groups = a.code_format().groups(a.columns());
  std::vector<std::int8_t> codes[2];
  std::vector<float> scales[2];
  const WeightSource* each[2] = {&a, &b};
  for (std::size_t i = 0; i < 2; ++i) {
    codes[i].resize(a.rows() * a.columns());
    scales[i].resize(a.rows() * groups);
    for (std::uint32_t row = 0; row < a.rows(); ++row) {
      each[i]->codes({&row, 1}, {&codes[i][row * a.columns()], 1, a.columns()}, &scales[i][row * groups], nullptr);
    }
  }
  return codes[0] == codes[1] && scales[0] == scales[1];
}

}  // namespace tulle::testing
