// SPDX-License-Identifier: Apache-2.0
/// \file The rows of a weight matrix as int8 codes and scales, whatever its file holds (L2).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Quantizes a group of values to codes in [-8, 7] as Q4_0 does (ggml-quants.c): the value of largest magnitude becomes
/// -8. Returns the scale. A group too small for an f16 scale becomes zeros; the scale of one that is not finite poisons
/// products.
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

/// What kernels of int8 codes keep as it is: codes with a scale per row, or with a scale, and perhaps a minimum, per 16
/// or 32 columns.
constexpr bool fits_i8(const CodeFormat& format) noexcept {
  const bool in_groups = format.group == 16 || format.group == 32;
  if (format.has_minimums) return format.bits >= 1 && format.bits <= 7 && in_groups;
  return format.bits >= 1 && format.bits <= 8 && (in_groups || format.group == 0);
}

/// The same with a scale per row.
constexpr bool fits_i8_rows(const CodeFormat& format) noexcept {
  return fits_i8(format) && format.group == 0;
}

/// The same with codes of 4 bits.
constexpr bool fits_i4_rows(const CodeFormat& format) noexcept {
  return fits_i8_rows(format) && format.bits <= 4;
}

/// What `DenseI4` keeps as it is: 4-bit codes with a scale, and perhaps a minimum, per 16 columns or a multiple of 32.
constexpr bool fits_i4(const CodeFormat& format) noexcept {
  const bool in_groups = format.group == 16 || (format.group != 0 && format.group % 32 == 0);
  return format.bits >= 1 && format.bits <= 4 && in_groups;
}

/// What sparse kernels of 4-bit codes keep as it is: a scale per 32 columns.
constexpr bool fits_sparse_i4(const CodeFormat& format) noexcept {
  return fits_i4(format) && format.group == 32 && !format.has_minimums;
}

/// A value is scale * code + minimum. Codes that fit (see above) are kept with their scales and minimums. Other rows are
/// quantized: scale = max|w| / 127, code = round half even(w / scale). Not thread-safe: it keeps the floats of a panel
/// between calls. Lifetime: that of the source.
class RowQuantizer {
 public:
  /// The codes and scales of the file's groups; one scale for each row whatever the file holds; or codes of 4 bits in
  /// groups of 32 columns, those of the file or else made as Q4_0 makes them.
  enum class Codes { of_file, one_scale_per_row, of_4_bits };

  explicit RowQuantizer(const WeightSource& source, Codes wanted = Codes::of_file)
      : source_(source), format_(source.code_format()) {
    const bool keeps = wanted == Codes::of_file             ? fits_i8(format_)
                       : wanted == Codes::one_scale_per_row ? fits_i8_rows(format_)
                                                            : fits_sparse_i4(format_);
    if (keeps) return;
    step_ = wanted == Codes::of_4_bits ? Step::quantize_to_4_bits : Step::quantize;
    format_ = step_ == Step::quantize ? CodeFormat{.bits = 8} : CodeFormat{.bits = 4, .group = 32, .half_scales = true};
    values_.resize(panel_rows * stride());
  }

  std::size_t rows() const noexcept { return source_.rows(); }
  std::size_t columns() const noexcept { return source_.columns(); }
  const CodeFormat& format() const noexcept { return format_; }  ///< of what `read` gives
  std::size_t scales_per_row() const noexcept { return format_.scales_per_row(columns()); }

  /// Up to 16 rows: codes [rows, columns], scales and, where the format has them, minimums [rows, scales_per_row].
  void read(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> codes, float* scales,
            float* minimums = nullptr) noexcept {
    if (step_ == Step::keep) return source_.codes(rows, codes, scales, minimums);
    source_.decode(rows, {values_.data(), rows.size(), columns(), stride()});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<const float> values(&values_[i * stride()], columns());
      if (step_ == Step::quantize) {
        scales[i] = quantize(values, codes[i]);
        continue;
      }
      for (std::size_t begin = 0; begin < columns(); begin += format_.group) {
        const auto group = values.subspan(begin, std::min(format_.group, columns() - begin));
        scales[i * scales_per_row() + begin / format_.group] = to_float(quantize_to_4_bits(group, codes[i] + begin));
      }
    }
  }

 private:
  enum class Step { keep, quantize, quantize_to_4_bits };

  /// Of the rows of floats: no power of 2, so that 16 of them do not share the sets of the L1 cache.
  std::size_t stride() const noexcept { return columns() + 16; }

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

  const WeightSource& source_;
  CodeFormat format_;
  Step step_ = Step::keep;
  std::vector<float> values_;  // [16, stride]
};

}  // namespace tulle
