// SPDX-License-Identifier: Apache-2.0
/// \file A weight matrix as its file holds it: one encoded row after the other, in any order (L1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

template <class T>
T load_unaligned(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

inline float load_half(const std::byte* bytes) noexcept {
  return to_float(load_unaligned<Half>(bytes));
}

/// One Q6_K block: 256 elements from 128 low nibbles, 64 bytes of upper bit pairs, 16 int8 scales and one f16 scale
/// (ggml-quants.c, dequantize_row_q6_K, states the layout).
/// `emit(index, group, code)`: element 0..255, its scale group 0..15, its code -32..31.
template <class Emit>
void for_each_q6_k(const std::byte* block, Emit emit) noexcept {
  const auto byte = [block](std::size_t at) { return static_cast<unsigned>(block[at]); };
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const unsigned low0 = byte(half * 64 + lane), low1 = byte(half * 64 + 32 + lane),
                     high = byte(128 + half * 32 + lane);
      const unsigned codes[4] = {(low0 & 15) | ((high & 3) << 4), (low1 & 15) | (((high >> 2) & 3) << 4),
                                 (low0 >> 4) | (((high >> 4) & 3) << 4), (low1 >> 4) | ((high >> 6) << 4)};
      for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        const std::size_t index = half * 128 + quarter * 32 + lane;
        emit(index, index / 16, static_cast<int>(codes[quarter]) - 32);
      }
    }
  }
}

}  // namespace detail

/// Decodes `count` elements (whole blocks) to floats; every value is exact in f32 but for one rounding where a block
/// multiplies a scale by a code. I8 gives the plain codes.
inline void decode_elements(DType dtype, const std::byte* bytes, std::size_t count, float* out) noexcept {
  using detail::load_half;
  using detail::load_unaligned;
  switch (dtype) {
    case DType::f32: std::memcpy(out, bytes, count * sizeof(float)); return;
    case DType::f16:
      for (std::size_t i = 0; i < count; ++i) out[i] = load_half(bytes + 2 * i);
      return;
    case DType::bf16:
      for (std::size_t i = 0; i < count; ++i) out[i] = to_float(load_unaligned<BFloat16>(bytes + 2 * i));
      return;
    case DType::i8:
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(bytes[i]));
      return;
    case DType::q8_0:
      for (; count >= 32; count -= 32, bytes += 34, out += 32) {
        const float scale = load_half(bytes);
        for (std::size_t i = 0; i < 32; ++i)
          out[i] = scale * static_cast<float>(static_cast<std::int8_t>(bytes[2 + i]));
      }
      return;
    case DType::q4_0:
      for (; count >= 32; count -= 32, bytes += 18, out += 32) {
        const float scale = load_half(bytes);
        for (std::size_t i = 0; i < 16; ++i) {
          const int pair = static_cast<int>(bytes[2 + i]);
          out[i] = scale * static_cast<float>((pair & 15) - 8);
          out[i + 16] = scale * static_cast<float>((pair >> 4) - 8);
        }
      }
      return;
    case DType::q4_1:
      for (; count >= 32; count -= 32, bytes += 20, out += 32) {
        const float scale = load_half(bytes), minimum = load_half(bytes + 2);
        for (std::size_t i = 0; i < 16; ++i) {
          const int pair = static_cast<int>(bytes[4 + i]);
          out[i] = scale * static_cast<float>(pair & 15) + minimum;
          out[i + 16] = scale * static_cast<float>(pair >> 4) + minimum;
        }
      }
      return;
    case DType::q6_k:
      for (; count >= 256; count -= 256, bytes += 210, out += 256) {
        const float scale = load_half(bytes + 208);
        detail::for_each_q6_k(bytes, [&](std::size_t index, std::size_t group, int code) {
          const float group_scale = scale * static_cast<float>(static_cast<std::int8_t>(bytes[192 + group]));
          out[index] = group_scale * static_cast<float>(code);
        });
      }
      return;
    default: return;
  }
}

/// Which rows of which tensors make one weight matrix W [rows, columns]: q, k and v stacked, a fused qkv in another row
/// order, or just a tensor. Nothing is copied; lifetime: that of the tensors' source.
class WeightRows {
 public:
  struct EncodedRow {
    const std::byte* data;
    DType dtype;
    float scale;  ///< multiplies the decoded values; 1 but for I8 rows that come with a scale per row
  };

  explicit WeightRows(std::size_t columns) : columns_(columns) {}

  /// Appends one row that starts at `data`.
  void append(const std::byte* data, DType dtype, float scale = 1.0f) { rows_.push_back({data, dtype, scale}); }

  std::size_t rows() const noexcept { return rows_.size(); }
  std::size_t columns() const noexcept { return columns_; }
  const EncodedRow& operator[](std::size_t row) const noexcept { return rows_[row]; }

  /// The type that all rows share, or false when they differ.
  bool uniform(DType& dtype) const noexcept {
    if (rows_.empty()) return false;
    dtype = rows_.front().dtype;
    return std::all_of(rows_.begin(), rows_.end(), [&](const EncodedRow& row) { return row.dtype == dtype; });
  }

  /// Row `row` as floats. out [columns].
  void decode(std::size_t row, float* out) const noexcept {
    decode_elements(rows_[row].dtype, rows_[row].data, columns_, out);
    if (rows_[row].scale != 1.0f) {
      for (std::size_t column = 0; column < columns_; ++column) out[column] *= rows_[row].scale;
    }
  }

 private:
  std::size_t columns_;
  std::vector<EncodedRow> rows_;
};

}  // namespace tulle
