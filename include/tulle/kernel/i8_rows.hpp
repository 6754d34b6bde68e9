// SPDX-License-Identifier: Apache-2.0
/// \file The rows of a weight matrix as int8 codes and scales, whatever its file holds (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <tulle/tensor/weight_rows.hpp>

namespace tulle {

/// A value is scale * code. Q8_0 and Q6_K rows keep their codes and the scales of their groups of 32 or 16 columns, I8 rows
/// their codes and row scale. Other rows are quantized: scale = max|w| / 127, code = round half even(w / scale), per row,
/// or per 32 columns (with an f16 scale) where the file has such groups, as Q4_0 and Q4_1 do.
/// Not thread-safe: it keeps a row's floats between calls. Lifetime: that of the source.
class I8Rows {
 public:
  explicit I8Rows(const WeightRows& source) : source_(source), values_(source.columns()) {
    if (!source.uniform(dtype_)) dtype_ = DType::f32;  // decoded row by row
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
    if (source_[row].dtype == DType::i8) {
      std::memcpy(codes, source_[row].data, columns());
      scales[0] = source_[row].scale;
      return;
    }
    source_.decode(row, values_.data());
    const std::size_t step = group_ == 0 ? columns() : group_;
    for (std::size_t begin = 0; begin < columns(); begin += step) {
      scales[begin / step] = quantize(values_.data() + begin, std::min(step, columns() - begin), codes + begin);
    }
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

  /// Returns the scale. Zeros have code 0; what is not finite too, and its scale then poisons the product.
  float quantize(const float* values, std::size_t count, std::int8_t* codes) const noexcept {
    float maximum = 0;
    for (std::size_t i = 0; i < count && !std::isnan(maximum); ++i) {
      if (!(std::fabs(values[i]) <= maximum)) maximum = std::fabs(values[i]);  // also takes a NaN
    }
    float scale = maximum / 127.0f;
    if (group_ != 0) scale = to_float(to_half(scale));
    const bool has_codes = scale > 0 && std::isfinite(scale);
    for (std::size_t i = 0; i < count; ++i) {
      const float code = has_codes ? std::clamp(std::nearbyint(values[i] / scale), -127.0f, 127.0f) : 0.0f;
      codes[i] = static_cast<std::int8_t>(code);
    }
    return scale;
  }

  const WeightRows& source_;
  DType dtype_{};
  std::size_t group_ = 0;
  std::vector<float> values_;
};

}  // namespace tulle
