// SPDX-License-Identifier: Apache-2.0
/// \file Rows of integer codes whose scales, and perhaps zero points, lie in tensors of their own (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/half.hpp>
#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

/// The name of the scales of a weight tensor.
inline std::string scale_name(std::string_view weight_name) {
  return std::string(weight_name) + "_scale";
}

/// What makes values of the codes of a matrix: value = scale * (code - zero point).
struct CodeScales {
  std::size_t group = 0;             ///< columns that share one; 0: a whole row
  std::vector<float> scales{};       ///< [rows, groups]
  std::vector<std::int8_t> zeros{};  ///< [rows, groups]; empty: all are 0
};

/// The bytes of a matrix of codes, and how a row of them is read.
struct CodeStorage {
  std::unique_ptr<const MatrixBytes> bytes, mask;  ///< mask: only where nonzeros alone are stored
  std::vector<std::size_t> begins;                 ///< with a mask: byte of every row's first value

  /// A row as the file has it: int8 codes without scales and zero points. codes [columns].
  void (*unpack)(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept = nullptr;

  /// Errors: memory.
  CodeStorage copied() const { return {bytes->copied(), mask ? mask->copied() : nullptr, begins, unpack}; }
  std::size_t size_bytes() const noexcept { return bytes->span().size() + (mask ? mask->span().size() : 0); }
};

/// Symmetric codes are kept. Codes of 4 bits with zero points become codes of 5 bits without: the difference. Codes of
/// 8 bits with zero points would need 9, so they are read as floats alone.
class CodedRows final : public WeightSource {
 public:
  /// `bits`: 4 or 8. scales: [rows, groups], one per row or one for all.
  CodedRows(CodeStorage storage, std::size_t rows, std::size_t columns, std::size_t bits, CodeScales scales);

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return format_; }
  std::size_t size_bytes() const noexcept override {
    return storage_.size_bytes() + scales_.scales.size() * sizeof(float) + scales_.zeros.size();
  }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const CodedRows>(storage_.copied(), rows_, columns_, bits_, scales_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override;
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float*) const noexcept override;

 private:
  CodeStorage storage_;
  std::size_t rows_, columns_, bits_, groups_, group_;
  CodeScales scales_;
  CodeFormat format_;
};

inline CodedRows::CodedRows(CodeStorage storage, std::size_t rows, std::size_t columns, std::size_t bits,
                            CodeScales scales)
    : storage_(std::move(storage)),
      rows_(rows),
      columns_(columns),
      bits_(bits),
      group_(std::max<std::size_t>(1, scales.group == 0 ? columns : scales.group)),
      scales_(std::move(scales)) {
  groups_ = (columns + group_ - 1) / group_;
  if (scales_.scales.size() == 1) scales_.scales.resize(rows * groups_, scales_.scales[0]);
  bool is_symmetric = true;
  for (const std::int8_t zero : scales_.zeros) is_symmetric = is_symmetric && zero == 0;
  if (is_symmetric) {
    scales_.zeros.clear();
  } else {
    if (bits == 8) return;  // floats
    ++bits;
  }
  format_.bits = bits;
  format_.group = scales_.group;
  format_.half_scales = format_.group != 0;
  for (const float scale : scales_.scales) {
    format_.half_scales = format_.half_scales && to_float(to_half(scale)) == scale;
  }
}

inline void CodedRows::decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // The codes lie in the last quarter of the floats' memory: a float never covers a code that is still to be read.
    const std::byte* code = reinterpret_cast<std::byte*>(out[i]) + 3 * columns_;
    storage_.unpack(storage_, rows[i], columns_, reinterpret_cast<std::byte*>(out[i]) + 3 * columns_);
    for (std::size_t begin = 0, at = rows[i] * groups_; begin < columns_; begin += group_, ++at) {
      const int zero = scales_.zeros.empty() ? 0 : scales_.zeros[at];
      const std::size_t end = std::min(begin + group_, columns_);
      for (std::size_t column = begin; column < end; ++column, ++code) {
        out[i][column] = static_cast<float>(static_cast<std::int8_t>(*code) - zero) * scales_.scales[at];
      }
    }
  }
}

inline void CodedRows::codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
                             float*) const noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i, scales += groups_) {
    storage_.unpack(storage_, rows[i], columns_, reinterpret_cast<std::byte*>(out[i]));
    std::copy_n(scales_.scales.begin() + static_cast<std::ptrdiff_t>(rows[i] * groups_), groups_, scales);
    for (std::size_t column = 0; column < columns_ && !scales_.zeros.empty(); ++column) {
      out[i][column] = static_cast<std::int8_t>(out[i][column] - scales_.zeros[rows[i] * groups_ + column / group_]);
    }
  }
}

namespace detail {

[[noreturn]] inline void fail_tensor(const EncodedTensor& tensor, const char* what,
                                     ErrorCode code = ErrorCode::malformed) {
  fail(code, "tensor \"", tensor.name, "\" ", what);
}

/// The tensor `name` beside the tensor `of`. Errors: not_found.
inline const EncodedTensor& find_beside(const TensorSource& source, const std::string& name, const EncodedTensor& of) {
  const EncodedTensor* tensor = source.find(name);
  if (tensor != nullptr) return *tensor;
  fail(ErrorCode::not_found, "tensor \"", of.name, "\" has no \"", name, "\" beside it; is the checkpoint complete?");
}

/// Two or three sizes.
using Sizes = std::array<std::size_t, 3>;

/// `count` sizes of an I64 tensor, each below 2^32. Errors: malformed.
inline Sizes read_sizes(const TensorSource& source, const EncodedTensor& tensor, std::size_t count) {
  if (tensor.dtype != DType::i64 || tensor.elements() != count) fail_tensor(tensor, "must be I64 with 2 or 3 sizes");
  const TensorBytes bytes(source, tensor);
  Sizes sizes{};
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = load_unaligned<std::uint64_t>(bytes.span().data() + 8 * i);
    if (size >> 32 != 0) fail_tensor(tensor, "holds a size that is negative or too large");
    sizes[i] = static_cast<std::size_t>(size);
  }
  return sizes;
}

inline bool has_shape(const EncodedTensor& tensor, std::size_t rows, std::size_t columns) {
  return tensor.shape.size() == 2 && tensor.shape[0] == rows && tensor.shape[1] == columns;
}

/// How many scales a row has. Errors: malformed when they are not [rows, groups], [rows] or one; unsupported for a type
/// that is not floats.
inline std::size_t scales_in_row(const EncodedTensor& scale, std::size_t rows) {
  const auto& shape = scale.shape;
  if (!is_float_dtype(scale.dtype)) fail_tensor(scale, "is not F32, F16 or BF16", ErrorCode::unsupported);
  if (scale.elements() == 1 || (shape.size() == 1 && shape[0] == rows)) return 1;
  if (shape.size() == 2 && shape[0] == rows && shape[1] != 0) return shape[1];
  fail_tensor(scale, "must hold a scale for each row, for each group of columns of a row, or one for all");
}

/// I8 in the shape of the scales, or packed codes of `bits` bits in I32 words along the rows, [words, groups]
/// (compressed-tensors from 0.10 on). Errors: malformed.
inline std::vector<std::int8_t> read_zero_points(const TensorSource& source, const EncodedTensor& tensor,
                                                 std::size_t rows, std::size_t groups, std::size_t bits) {
  const std::size_t count = tensor.elements();
  const bool is_packed = tensor.dtype == DType::i32 && has_shape(tensor, (rows * bits + 31) / 32, groups);
  if (!is_packed && (tensor.dtype != DType::i8 || (count != 1 && count != rows * groups))) {
    fail_tensor(tensor, "must hold a zero point for every scale, I8 or packed in I32 along the rows");
  }
  const TensorBytes bytes(source, tensor);
  std::vector<std::int8_t> zeros(rows * groups);
  const int low = -(1 << (bits - 1));
  for (std::size_t at = 0; at < zeros.size(); ++at) {
    int zero = 0;
    if (is_packed) {
      const std::size_t bit = at / groups * bits;  // 4 or 8 bits never straddle words
      const auto word = load_unaligned<std::uint32_t>(bytes.span().data() + (bit / 32 * groups + at % groups) * 4);
      zero = static_cast<int>((word >> (bit % 32)) & ((1u << bits) - 1)) + low;
    } else {
      zero = static_cast<std::int8_t>(bytes.span()[count == 1 ? 0 : at]);
    }
    if (zero < low || zero >= -low) fail_tensor(tensor, "holds a zero point outside of the codes");
    zeros[at] = static_cast<std::int8_t>(zero);
  }
  return zeros;
}

}  // namespace detail

/// "WEIGHT_scale" and "WEIGHT_zero_point" beside the codes `tensor` of `columns` columns. WEIGHT: "P.weight".
/// `group`: columns that share a scale; by default that is `columns` over the number of scales, which must divide it.
/// Errors: not_found without scales; malformed and unsupported, with the tensor's name.
inline CodeScales read_code_scales(const TensorSource& source, const EncodedTensor& tensor, const std::string& weight,
                                   std::size_t rows, std::size_t columns, std::size_t bits,
                                   std::optional<std::size_t> group = {}) {
  const EncodedTensor& scale = detail::find_beside(source, scale_name(weight), tensor);
  const std::size_t groups = detail::scales_in_row(scale, rows);
  if (group ? groups != CodeFormat{.group = *group}.groups(columns) : columns % groups != 0) {
    detail::fail_tensor(scale, "has groups of which a row is no whole number");
  }
  CodeScales result;
  result.group = group ? *group : groups == 1 ? 0 : columns / groups;
  result.scales = read_floats(source, scale);
  if (const EncodedTensor* zero = source.find(weight + "_zero_point")) {
    result.zeros = detail::read_zero_points(source, *zero, rows, groups, bits);
  }
  return result;
}

}  // namespace tulle
