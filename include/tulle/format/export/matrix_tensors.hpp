// SPDX-License-Identifier: Apache-2.0
/// \file Matrices of weights as tensors to write: floats, codes, scales, packed codes (L3).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/half.hpp>
#include <tulle/format/export/model_parts.hpp>
#include <tulle/format/output_tensor.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/transposed_rows.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Up to 16 rows of codes.
struct CodePanel {
  std::size_t rows, columns, groups;
  std::vector<std::int8_t> codes;       ///< [rows, columns]
  std::vector<float> scales, minimums;  ///< [rows, groups]; minimums are empty where the format has none

  std::span<const std::int8_t> row(std::size_t index) const { return {codes.data() + index * columns, columns}; }
};

namespace detail {

inline std::shared_ptr<const WeightSource> open_part(const TensorSource& source, const MatrixPart& part) {
  auto matrix = source.matrix(part.name);
  if (matrix == nullptr || matrix->rows() != part.rows || matrix->columns() != part.columns ||
      matrix->code_format() != part.format) {
    fail(ErrorCode::state, "the matrix \"", part.name, "\" changed while it was written");
  }
  return matrix;
}

/// Calls work(rows [count, columns]) with the floats of up to 16 rows at a time.
template <class Work>
void for_each_float_panel(const TensorSource& source, const MatrixPart& part, Work work) {
  const auto matrix = open_part(source, part);
  std::vector<float> values(16 * part.columns);
  for (std::size_t first = 0; first < part.rows; first += 16) {
    const PanelRows rows(first, part.rows);
    matrix->decode(rows, {values.data(), rows.size(), part.columns});
    work(std::span<const float>(values).first(rows.size() * part.columns));
  }
}

/// Calls work(CodePanel) with the codes of up to 16 rows at a time.
template <class Work>
void for_each_code_panel(const TensorSource& source, const MatrixPart& part, Work work) {
  const auto matrix = open_part(source, part);
  const std::size_t groups = part.format.groups(part.columns), per_row = part.format.scales_per_row(part.columns);
  CodePanel panel{16,
                  part.columns,
                  groups,
                  std::vector<std::int8_t>(16 * part.columns),
                  std::vector<float>(16 * per_row),
                  std::vector<float>(part.format.has_minimums ? 16 * per_row : 0)};
  const auto multiply_out = [&](std::vector<float>& scales) {
    for (std::size_t row = 0; row * per_row < scales.size(); ++row) {
      part.format.multiply_out(&scales[row * per_row], part.columns);
      std::copy_n(&scales[row * per_row], groups, &scales[row * groups]);
    }
  };
  for (std::size_t first = 0; first < part.rows; first += 16) {
    const PanelRows rows(first, part.rows);
    panel.rows = rows.size();
    matrix->codes(rows, {panel.codes.data(), rows.size(), part.columns}, panel.scales.data(),
                  panel.minimums.empty() ? nullptr : panel.minimums.data());
    if (part.format.block != 0) {
      multiply_out(panel.scales);
      multiply_out(panel.minimums);
    }
    work(panel);
  }
}

/// Floats as bytes of F32, F16 or BF16. Errors: unsupported for a finite value that is too large for F16.
inline void encode_floats(std::span<const float> values, DType dtype, const std::string& name,
                          std::vector<std::byte>& out) {
  const std::size_t size = dtype_info(dtype).block_bytes;
  out.resize(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]);
    if (dtype == DType::f16) {
      const Half half = to_half(values[i]);
      if (std::isfinite(values[i]) && !std::isfinite(to_float(half))) {
        fail(ErrorCode::unsupported, "\"", name, "\" holds ", values[i], ", which is too large for F16");
      }
      bits = half.bits;
    } else if (dtype == DType::bf16) {
      bits = to_bfloat16(values[i]).bits;
    }
    std::memcpy(out.data() + i * size, &bits, size);  // little-endian
  }
}

}  // namespace detail

/// "P.weight" [rows, columns] of F32, F16 or BF16, or its transpose where the part says so. Lifetime: that of the source.
inline OutputTensor float_tensor(const TensorSource& source, const MatrixPart& part, DType dtype) {
  if (part.transposed) {
    return {part.name + ".weight", dtype, {part.columns, part.rows}, [&source, part, dtype](const TensorSink& sink) {
              const TransposedRows turned(*detail::open_part(source, part));
              std::vector<float> row(part.rows);
              std::vector<std::byte> bytes;
              for (std::size_t i = 0; i < part.columns; ++i) {
                turned.decode_row(i, row.data());
                detail::encode_floats(row, dtype, part.name, bytes);
                sink(bytes);
              }
            }};
  }
  return {part.name + ".weight", dtype, {part.rows, part.columns}, [&source, part, dtype](const TensorSink& sink) {
            std::vector<std::byte> bytes;
            detail::for_each_float_panel(source, part, [&](std::span<const float> values) {
              detail::encode_floats(values, dtype, part.name, bytes);
              sink(bytes);
            });
          }};
}

/// "P.weight_scale" [rows, groups].
inline OutputTensor scale_tensor(const TensorSource& source, const MatrixPart& part, DType dtype) {
  const std::size_t groups = part.format.groups(part.columns);
  return {part.name + ".weight_scale", dtype, {part.rows, groups}, [&source, part, dtype](const TensorSink& sink) {
            std::vector<std::byte> bytes;
            detail::for_each_code_panel(source, part, [&](const CodePanel& panel) {
              detail::encode_floats({panel.scales.data(), panel.rows * panel.groups}, dtype, part.name, bytes);
              sink(bytes);
            });
          }};
}

/// "P.weight" I8 [rows, columns]: the codes.
inline OutputTensor code_tensor(const TensorSource& source, const MatrixPart& part) {
  return {part.name + ".weight", DType::i8, {part.rows, part.columns}, [&source, part](const TensorSink& sink) {
            detail::for_each_code_panel(source, part, [&](const CodePanel& panel) {
              sink(std::as_bytes(std::span(panel.codes).first(panel.rows * panel.columns)));
            });
          }};
}

/// "P.weight_packed" I32 [rows, ceil(columns * bits / 32)] of codes; bits: 4 or 8. The form of `PackedRows`.
inline OutputTensor packed_tensor(const TensorSource& source, const MatrixPart& part, std::size_t bits) {
  const std::size_t words = (part.columns * bits + 31) / 32;
  return {part.name + ".weight_packed",
          DType::i32,
          {part.rows, words},
          [&source, part, bits, words](const TensorSink& sink) {
            const int offset = part.format.has_minimums ? 0 : 1 << (bits - 1);  // the lowest code is stored as 0
            detail::for_each_code_panel(source, part, [&](const CodePanel& panel) {
              std::vector<std::byte> bytes(panel.rows * words * 4);
              for (std::size_t row = 0; row < panel.rows; ++row) {
                for (std::size_t column = 0; column < part.columns; ++column) {
                  const std::size_t bit = column * bits;
                  const int code = static_cast<std::uint8_t>(panel.row(row)[column] + offset);
                  bytes[row * words * 4 + bit / 8] |= static_cast<std::byte>(code << (bit % 8));
                }
              }
              sink(bytes);
            });
          }};
}

/// Whether every minimum is -zero point * scale, to a rounding, with a zero point among the codes of `bits` bits.
inline bool has_zero_points(const TensorSource& source, const MatrixPart& part, std::size_t bits) {
  bool all = true;
  detail::for_each_code_panel(source, part, [&](const CodePanel& panel) {
    for (std::size_t i = 0; i < panel.rows * panel.groups; ++i) {
      const float zero = std::nearbyint(-panel.minimums[i] / panel.scales[i]);
      const bool is_code = zero >= 0 && zero < static_cast<float>(1 << bits);  // not for NaN
      all = all && is_code && std::abs(zero * panel.scales[i] + panel.minimums[i]) <= 1e-6f * std::abs(panel.scales[i]);
    }
  });
  return all;
}

/// "P.weight_zero_point" I32 [ceil(rows * bits / 32), groups], packed along the rows; only with `has_zero_points`.
inline OutputTensor zero_point_tensor(const TensorSource& source, const MatrixPart& part, std::size_t bits) {
  const std::size_t groups = part.format.groups(part.columns), words = (part.rows * bits + 31) / 32;
  return {part.name + ".weight_zero_point",
          DType::i32,
          {words, groups},
          [&source, part, bits, groups](const TensorSink& sink) {
            detail::for_each_code_panel(source, part, [&](const CodePanel& panel) {  // 16 rows are whole words
              std::vector<std::byte> bytes((panel.rows * bits + 31) / 32 * groups * 4);
              for (std::size_t i = 0; i < panel.rows * groups; ++i) {
                const std::size_t bit = i / groups * bits, word = bit / 32 * groups + i % groups;
                const auto zero = static_cast<int>(std::nearbyint(-panel.minimums[i] / panel.scales[i]));
                bytes[word * 4 + bit % 32 / 8] |= static_cast<std::byte>(zero << (bit % 8));
              }
              sink(bytes);
            });
          }};
}

/// "P.weight_shape" I64: `sizes`.
inline OutputTensor shape_tensor(const MatrixPart& part, std::vector<std::int64_t> sizes) {
  return {part.name + ".weight_shape", DType::i64, {sizes.size()}, [sizes = std::move(sizes)](const TensorSink& sink) {
            sink(std::as_bytes(std::span(sizes)));
          }};
}

/// A norm, a bias or a buffer: as it is, or as F32 where its rows lie in another order than Hugging Face's.
/// Errors: unsupported for blocks, which have no place in safetensors.
inline OutputTensor plain_tensor(const TensorSource& source, const std::string& name) {
  const EncodedTensor* tensor = source.find(name);
  if (tensor == nullptr) fail(ErrorCode::not_found, "the model has no tensor \"", name, "\"");
  if (dtype_info(tensor->dtype).block_elements != 1) {
    fail(ErrorCode::unsupported, "tensor \"", name, "\" is ", dtype_name(tensor->dtype), ", which only matrices are");
  }
  if (!tensor->order.as_it_lies() || tensor->offset != 0) {
    return {name, DType::f32, {tensor->taken_elements()}, [&source, tensor](const TensorSink& sink) {
              const std::vector<float> values = read_floats(source, *tensor);
              sink(std::as_bytes(std::span(values)));
            }};
  }
  return {name, tensor->dtype, tensor->shape,
          [&source, tensor](const TensorSink& sink) { sink(TensorBytes(source, *tensor).span()); }};
}

}  // namespace tulle
