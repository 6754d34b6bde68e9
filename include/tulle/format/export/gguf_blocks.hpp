// SPDX-License-Identifier: Apache-2.0
/// \file Matrices as GGUF's types: Q8_0, Q4_0 and floats (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/format/export/matrix_tensors.hpp>
#include <tulle/format/export/model_parts.hpp>
#include <tulle/format/output_tensor.hpp>
#include <tulle/tensor/row_order.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

namespace detail {

/// A block of Q8_0: f16 scale, 32 codes. block [34].
inline void put_q8_0(float scale, const std::int8_t* codes, std::byte* block) {
  const Half half = to_half(scale);
  std::memcpy(block, &half, 2);
  std::memcpy(block + 2, codes, 32);
}

/// A block of Q4_0: f16 scale, then codes + 8: the first 16 in the low halves of 16 bytes. block [18].
inline void put_q4_0(float scale, const std::int8_t* codes, std::byte* block) {
  const Half half = to_half(scale);
  std::memcpy(block, &half, 2);
  for (std::size_t i = 0; i < 16; ++i) {
    block[2 + i] = static_cast<std::byte>((codes[i] + 8) | (codes[i + 16] + 8) << 4);
  }
}

/// x * inverse rounded to float, whatever the compiler may contract: the product is exact in double.
inline float rounded_product(float x, float inverse) {
  return static_cast<float>(static_cast<double>(x) * static_cast<double>(inverse));
}

/// values [32], finite. The arithmetic of ggml-quants.c (quantize_row_q8_0_ref) and gguf-py's quants.py: d =
/// max|x| / 127, codes = round(x / d), half away from zero.
inline void quantize_q8_0(const float* values, std::byte* block) {
  float largest = 0;
  for (std::size_t i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(values[i]));
  const float scale = largest / 127.0f, inverse = 1.0f / scale;
  std::int8_t codes[32] = {};
  for (std::size_t i = 0; i < 32 && std::isfinite(inverse); ++i) {
    codes[i] = static_cast<std::int8_t>(std::round(rounded_product(values[i], inverse)));
  }
  put_q8_0(scale, codes, block);
}

/// The same for Q4_0 (quantize_row_q4_0_ref): d = m / -8, where m is the value of largest magnitude, the first of
/// several; codes = min(15, floor(x / d + 8.5)) - 8.
inline void quantize_q4_0(const float* values, std::byte* block) {
  float extreme = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    if (std::fabs(values[i]) > std::fabs(extreme)) extreme = values[i];
  }
  const float scale = extreme / -8.0f, inverse = 1.0f / scale;
  std::int8_t codes[32] = {};
  for (std::size_t i = 0; i < 32 && std::isfinite(inverse); ++i) {
    const float level = rounded_product(values[i], inverse) + 8.5f;
    codes[i] = static_cast<std::int8_t>(std::min(15, static_cast<int>(level)) - 8);
  }
  put_q4_0(scale, codes, block);
}

/// Whether the codes of a matrix are those of the block type.
inline bool keeps_codes(const CodeFormat& format, DType dtype) {
  const std::size_t bits = dtype == DType::q8_0 ? 8 : dtype == DType::q4_0 ? 4 : 0;
  return bits != 0 && format == CodeFormat{.bits = bits, .group = 32, .half_scales = true};
}

inline void require_finite(std::span<const float> values, const std::string& name) {
  if (std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) return;
  fail(ErrorCode::unsupported, "\"", name, "\" holds a value that is not finite, which blocks of codes cannot");
}

/// Blocks of a row of codes or floats. out [columns / 32 blocks].
inline void put_blocks(const std::int8_t* codes, const float* scales, DType dtype, std::span<std::byte> out) {
  const std::size_t bytes = dtype_info(dtype).block_bytes;
  for (std::size_t i = 0; i * bytes < out.size(); ++i) {
    (dtype == DType::q8_0 ? put_q8_0 : put_q4_0)(scales[i], codes + 32 * i, &out[i * bytes]);
  }
}
inline void quantize_blocks(const float* values, DType dtype, std::span<std::byte> out) {
  const std::size_t bytes = dtype_info(dtype).block_bytes;
  for (std::size_t i = 0; i * bytes < out.size(); ++i) {
    (dtype == DType::q8_0 ? quantize_q8_0 : quantize_q4_0)(values + 32 * i, &out[i * bytes]);
  }
}

}  // namespace detail

/// A matrix in the order of a GGUF file's rows. dtype: Q8_0, Q4_0 (columns a multiple of 32), F16, BF16 or F32. Codes
/// that are those of the block type are kept. Lifetime: that of the source.
inline OutputTensor gguf_matrix(const TensorSource& source, const MatrixPart& part, const std::string& name,
                                const RowOrder& order, DType dtype) {
  return {name, dtype, {part.rows, part.columns}, [&source, part, order, dtype](const TensorSink& sink) {
            const auto matrix = in_order(detail::open_part(source, part), order);
            const bool keeps_codes = detail::keeps_codes(part.format, dtype);
            const std::size_t row_bytes = dtype_bytes(dtype, part.columns, part.name);
            std::vector<float> values(keeps_codes ? 0 : part.columns), scales(part.format.groups(part.columns));
            std::vector<std::int8_t> codes(keeps_codes ? part.columns : 0);
            std::vector<std::byte> bytes(row_bytes);
            for (std::uint32_t row = 0; row < part.rows; ++row) {
              if (keeps_codes) {
                matrix->codes({&row, 1}, {codes.data(), 1, part.columns}, scales.data(), nullptr);
                detail::put_blocks(codes.data(), scales.data(), dtype, bytes);
              } else if (matrix->decode_row(row, values.data()); is_float_dtype(dtype)) {
                detail::encode_floats(values, dtype, part.name, bytes);
              } else {
                detail::require_finite(values, part.name);
                detail::quantize_blocks(values.data(), dtype, bytes);
              }
              sink(bytes);
            }
          }};
}

}  // namespace tulle
