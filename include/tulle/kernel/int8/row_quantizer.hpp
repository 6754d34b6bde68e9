// SPDX-License-Identifier: Apache-2.0
/// \file The rows of a weight matrix as int8 codes and scales, whatever its file holds (L2).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <tulle/tensor/weight_rows.hpp>

namespace tulle {

/// Quantizes a group of values to codes in [-8, 7] as Q4_0 does (ggml-quants.c): the value of largest magnitude becomes -8.
/// Returns the scale. A group too small for an f16 scale becomes zeros; the scale of one that is not finite poisons products.
inline Half quantize_to_4_bits(std::span<const float> values, std::int8_t* codes) noexcept {
  float extreme = 0;
  for (std::size_t i = 0; i < values.size() && !std::isnan(extreme); ++i) {
    if (!(std::fabs(values[i]) <= std::fabs(extreme))) extreme = values[i];  // also takes a NaN
  }
  const Half scale = to_half(extreme / -8.0f);
  const bool has_codes = to_float(scale) != 0.0f && std::isfinite(to_float(scale));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float code = has_codes ? std::nearbyint(values[i] * (-8.0f / extreme)) : 0.0f;
    codes[i] = static_cast<std::int8_t>(std::clamp(code, -8.0f, 7.0f));
  }
  return scale;
}

/// A value is scale * code. I8 rows keep their codes and row scale, Q8_0, Q4_0 and Q6_K rows their codes and the scales of
/// their groups of 32 or 16 columns. A Q4_1 block, d q + m, becomes codes k q + r with the scale d / k, where k of 1 ... 16
/// brings r, the nearest to k m / d, closest to it: an eighth of the error of plain rounding.
/// Other rows are quantized: scale = max|w| / 127, code = round half even(w / scale).
/// Not thread-safe: it keeps a row's floats between calls. Lifetime: that of the source.
class RowQuantizer {
 public:
  /// The codes and scales of the file's blocks; one scale for each row whatever the file holds; or codes of 4 bits in
  /// groups of 32 columns, those of Q4_0 rows or else made as Q4_0 makes them.
  enum class Codes { of_file, one_scale_per_row, of_4_bits };

  explicit RowQuantizer(const WeightRows& source, Codes wanted = Codes::of_file)
      : source_(source), values_(source.columns()) {
    const bool uniform = source.uniform(dtype_);
    four_bits_ = wanted == Codes::of_4_bits && !(uniform && dtype_ == DType::q4_0);
    if (!uniform || wanted == Codes::one_scale_per_row || four_bits_) dtype_ = DType::f32;  // decoded row by row
    if (four_bits_) group_ = 32;
    switch (dtype_) {
      case DType::q8_0:
      case DType::q4_0:
      case DType::q4_1: group_ = 32; break;
      case DType::q6_k: group_ = 16; break;
      default: break;
    }
  }

  std::size_t rows() const noexcept { return source_.rows(); }
  std::size_t columns() const noexcept { return source_.columns(); }
  std::size_t group() const noexcept { return group_; }  ///< columns that share a scale; 0: the whole row
  std::size_t scales_per_row() const noexcept { return group_ == 0 ? 1 : (columns() + group_ - 1) / group_; }

  /// Row `row`: codes [columns], scales [scales_per_row].
  void read(std::size_t row, std::int8_t* codes, float* scales) noexcept {
    if (dtype_ == DType::q8_0) return read_q8_0(source_[row].data, codes, scales);
    if (dtype_ == DType::q6_k) return read_q6_k(source_[row].data, codes, scales);
    if (dtype_ == DType::q4_0) return read_q4_0(source_[row].data, codes, scales);
    if (dtype_ == DType::q4_1) return read_q4_1(source_[row].data, codes, scales);
    if (four_bits_) {
      source_.decode(row, values_.data());
      for (std::size_t begin = 0; begin < columns(); begin += 32) {
        const std::span group = std::span(values_).subspan(begin, std::min<std::size_t>(32, columns() - begin));
        scales[begin / 32] = to_float(quantize_to_4_bits(group, codes + begin));
      }
      return;
    }
    if (source_[row].dtype == DType::i8) {
      std::memcpy(codes, source_[row].data, columns());
      scales[0] = source_[row].scale;
      return;
    }
    source_.decode(row, values_.data());
    scales[0] = quantize(values_, codes);
  }

 private:
  void read_q8_0(const std::byte* block, std::int8_t* codes, float* scales) const noexcept {
    for (std::size_t begin = 0; begin < columns(); begin += 32, block += 34) {
      scales[begin / 32] = detail::load_half(block);
      std::memcpy(codes + begin, block + 2, 32);
    }
  }

  void read_q6_k(const std::byte* block, std::int8_t* codes, float* scales) const noexcept {
    for (std::size_t begin = 0; begin < columns(); begin += 256, block += 210) {
      for (std::size_t part = 0; part < 16; ++part) {
        scales[begin / 16 + part] =
            detail::load_half(block + 208) * static_cast<float>(static_cast<std::int8_t>(block[192 + part]));
      }
      detail::for_each_q6_k(block, [&](std::size_t index, std::size_t, int value) {
        codes[begin + index] = static_cast<std::int8_t>(value);
      });
    }
  }

  void read_q4_0(const std::byte* block, std::int8_t* codes, float* scales) const noexcept {
    for (std::size_t begin = 0; begin < columns(); begin += 32, block += 18) {
      scales[begin / 32] = detail::load_half(block);
      put_nibbles(block + 2, 1, -8, codes + begin);
    }
  }

  void read_q4_1(const std::byte* block, std::int8_t* codes, float* scales) const noexcept {
    for (std::size_t begin = 0; begin < columns(); begin += 32, block += 20) {
      const float scale = detail::load_half(block), minimum = detail::load_half(block + 2);
      int best_factor = 0, best_offset = 0;
      float min_error = std::numeric_limits<float>::infinity();
      for (int factor = 1; factor <= 16; ++factor) {
        const float exact = minimum * static_cast<float>(factor) / scale, offset = std::nearbyint(exact);
        const bool in_range = offset >= -127 && offset + static_cast<float>(15 * factor) <= 127;  // never with a NaN
        const float error = std::fabs(exact - offset) / static_cast<float>(factor);
        if (!in_range || error >= min_error) continue;
        min_error = error;
        best_factor = factor;
        best_offset = static_cast<int>(offset);
      }
      if (best_factor > 0) {
        scales[begin / 32] = to_float(to_half(scale / static_cast<float>(best_factor)));
        put_nibbles(block + 4, best_factor, best_offset, codes + begin);
      } else {
        scales[begin / 32] = quantize_block(block, codes + begin);
      }
    }
  }

  /// Codes factor * q + offset of the 32 nibbles of a block.
  static void put_nibbles(const std::byte* nibbles, int factor, int offset, std::int8_t* codes) noexcept {
    for (std::size_t i = 0; i < 16; ++i) {
      const int pair = static_cast<int>(nibbles[i]);
      codes[i] = static_cast<std::int8_t>(factor * (pair & 15) + offset);
      codes[i + 16] = static_cast<std::int8_t>(factor * (pair >> 4) + offset);
    }
  }

  /// A Q4_1 block whose minimum is out of proportion to its scale, or that is not finite.
  static float quantize_block(const std::byte* block, std::int8_t* codes) noexcept {
    std::array<float, 32> values;
    decode_elements(DType::q4_1, block, values.size(), values.data());
    const float scale = to_float(to_half(quantize(values, codes)));
    if (!std::isfinite(scale) || scale == 0) std::fill_n(codes, values.size(), std::int8_t{0});
    return scale;
  }

  /// Returns the scale. Zeros have code 0; what is not finite too, and its scale then poisons the product.
  static float quantize(std::span<const float> values, std::int8_t* codes) noexcept {
    const float scale = largest_magnitude(values) / 127.0f;
    if (!(scale > 0) || !std::isfinite(scale)) {
      std::fill_n(codes, values.size(), std::int8_t{0});
      return scale;
    }
    // Added to a small number, this rounds it half to even and leaves the integer in the sum's low bits.
    // (std::nearbyint is a call for every element where the compiler may assume no more than SSE2.) Quotients are below
    // 191; above 127.5 where the scale is subnormal.
    constexpr float rounder = 0x1.8p23f;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float sum = values[i] / scale + rounder;
      const std::int32_t code = std::bit_cast<std::int32_t>(sum) - std::bit_cast<std::int32_t>(rounder);
      codes[i] = static_cast<std::int8_t>(std::min(std::max(code, -127), 127));
    }
    return scale;
  }

  /// The first NaN where there is one.
  static float largest_magnitude(std::span<const float> values) noexcept {
    std::int32_t largest = 0;  // floats without a sign are in the order of their bits
    for (const float value : values) largest = std::max(largest, std::bit_cast<std::int32_t>(value) & 0x7FFFFFFF);
    if (!std::isnan(std::bit_cast<float>(largest))) return std::bit_cast<float>(largest);
    return std::fabs(*std::find_if(values.begin(), values.end(), [](float value) { return std::isnan(value); }));
  }

  const WeightRows& source_;
  DType dtype_{};
  std::size_t group_ = 0;
  bool four_bits_ = false;  ///< the rows are decoded, and quantized to 4 bits
  std::vector<float> values_;
};

}  // namespace tulle
