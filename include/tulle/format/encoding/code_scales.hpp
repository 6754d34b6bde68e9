// SPDX-License-Identifier: Apache-2.0
/// \file The scales, zero points and groups that lie in tensors beside integer codes (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// The name of the scales of a weight tensor.
inline std::string scale_name(std::string_view weight_name) {
  return std::string(weight_name) + "_scale";
}

/// What makes values of the codes of a matrix: value = scale * (code - zero point).
struct CodeScales {
  std::size_t group = 0;                  ///< columns that share one; 0: a whole row
  std::vector<float> scales{};            ///< [rows, groups]
  std::vector<std::int8_t> zeros{};       ///< [rows, groups]; empty: all are 0
  std::vector<std::uint32_t> group_of{};  ///< [columns], below the groups; empty: each `group` columns share one

  std::size_t group_at(std::size_t column) const noexcept {
    return !group_of.empty() ? group_of[column] : group == 0 ? 0 : column / group;
  }
};

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

/// Columns that share a scale, and which scale is whose where those of a group are not neighbours.
struct GroupIndex {
  std::size_t group;
  std::vector<std::uint32_t> group_of;
};

/// The group of each column, I32. Only -1: groups of neighbours. Errors: malformed for groups that are not there.
inline GroupIndex read_group_index(const TensorSource& source, const EncodedTensor& tensor, std::size_t columns,
                                   std::size_t groups) {
  if (tensor.dtype != DType::i32 || tensor.elements() != columns)
    fail_tensor(tensor, "must hold a group for each column, I32");
  const TensorBytes bytes(source, tensor);
  std::vector<std::uint32_t> group_of(columns);
  std::size_t unset = 0, group = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    group_of[column] = load_unaligned<std::uint32_t>(bytes.span().data() + 4 * column);
    unset += group_of[column] == 0xFFFFFFFF ? 1 : 0;
    group += group == column && group_of[column] == 0 ? 1 : 0;
  }
  if (unset != 0 && unset == columns) return {groups == 1 ? 0 : (columns + groups - 1) / groups, {}};
  bool in_order = true;
  for (std::size_t column = 0; column < columns; ++column) {
    if (group_of[column] >= groups) fail_tensor(tensor, "holds a group that has no scale");
    in_order = in_order && group != 0 && group_of[column] == column / group;
  }
  if (groups == 1) group = 0;
  if (in_order && CodeFormat{.group = group}.groups(columns) == groups) return {group, {}};
  return {0, std::move(group_of)};
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

/// "WEIGHT_scale", "WEIGHT_zero_point" and "WEIGHT_g_idx" (groups in the order of activations) beside the codes `tensor` of `columns` columns. WEIGHT: "P.weight".
/// `group`: columns that share a scale; by default that is `columns` over the number of scales, which must divide it.
/// Errors: not_found without scales; malformed and unsupported, with the tensor's name.
inline CodeScales read_code_scales(const TensorSource& source, const EncodedTensor& tensor, const std::string& weight,
                                   std::size_t rows, std::size_t columns, std::size_t bits,
                                   std::optional<std::size_t> group = {}) {
  const EncodedTensor& scale = detail::find_beside(source, scale_name(weight), tensor);
  const std::size_t groups = detail::scales_in_row(scale, rows);
  CodeScales result;
  if (const EncodedTensor* index = source.find(weight + "_g_idx")) {
    detail::GroupIndex found = detail::read_group_index(source, *index, columns, groups);
    result.group_of = std::move(found.group_of);
    group = found.group;
  }
  const bool is_whole = group ? groups == CodeFormat{.group = *group}.groups(columns) : columns % groups == 0;
  if (result.group_of.empty() && !is_whole) {
    detail::fail_tensor(scale, "has groups of which a row is no whole number");
  }
  result.group = group ? *group : groups == 1 ? 0 : columns / groups;
  result.scales = read_floats(source, scale);
  if (const EncodedTensor* zero = source.find(weight + "_zero_point")) {
    result.zeros = detail::read_zero_points(source, *zero, rows, groups, bits);
  }
  return result;
}

}  // namespace tulle
