// SPDX-License-Identifier: Apache-2.0
/// \file The rows of a weight matrix as int8 codes and scales, whatever its file holds (L2).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// What kernels of int8 codes keep as it is: codes without minimums, with a scale per row, per 16 or per 32 columns.
constexpr bool fits_i8(const CodeFormat& format) noexcept {
  const bool scales_fit = format.group == 0 || format.group == 16 || (format.group == 32 && format.half_scales);
  return format.bits >= 1 && format.bits <= 8 && !format.has_minimums && scales_fit;
}

/// The same with a scale per row.
constexpr bool fits_i8_rows(const CodeFormat& format) noexcept {
  return fits_i8(format) && format.group == 0;
}

/// What kernels of 4-bit codes keep as it is: an f16 scale (and perhaps a minimum) per 32 columns.
constexpr bool fits_i4(const CodeFormat& format) noexcept {
  return format.bits == 4 && format.group == 32 && format.half_scales;
}

/// A value is scale * code. Codes that fit (see above) are kept with their scales. Codes q with a minimum in groups of
/// 16 or 32 columns, d q + m, become codes k q + r with the scale d / k, where the k from 1 on that brings r, the
/// nearest to k m / d, closest to it is taken: for Q4_1 an eighth of the error of plain rounding. Other rows are
/// quantized: scale = max|w| / 127, code = round half even(w / scale). Not thread-safe: it keeps the floats of a panel
/// between calls. Lifetime: that of the source.
class RowQuantizer {
 public:
  /// The codes and scales of the file's groups; one scale for each row whatever the file holds; or codes of 4 bits in
  /// groups of 32 columns, those of the file or else made as Q4_0 makes them.
  enum class Codes { of_file, one_scale_per_row, of_4_bits };

  explicit RowQuantizer(const WeightSource& source, Codes wanted = Codes::of_file)
      : source_(source), format_(source.code_format()) {
    const bool in_groups = format_.bits != 0 && (format_.group == 16 || format_.group == 32);
    switch (wanted) {
      case Codes::of_file:
        if (fits_i8(format_)) {
          step_ = Step::keep;
        } else if (in_groups && format_.has_minimums && format_.bits <= 7) {
          step_ = Step::fold_minimums;
        }
        break;
      case Codes::one_scale_per_row:
        if (fits_i8_rows(format_)) step_ = Step::keep;
        break;
      case Codes::of_4_bits: step_ = fits_i4(format_) && !format_.has_minimums ? Step::keep : Step::quantize_to_4_bits;
    }
    if (step_ == Step::keep || step_ == Step::fold_minimums) group_ = format_.group;
    if (step_ == Step::quantize_to_4_bits) group_ = 32;
    if (step_ == Step::quantize || step_ == Step::quantize_to_4_bits) values_.resize(panel_rows * stride());
    if (step_ == Step::fold_minimums) minimums_.resize(panel_rows * scales_per_row());
  }

  std::size_t rows() const noexcept { return source_.rows(); }
  std::size_t columns() const noexcept { return source_.columns(); }
  std::size_t group() const noexcept { return group_; }  ///< columns that share a scale; 0: the whole row
  std::size_t scales_per_row() const noexcept { return group_ == 0 ? 1 : (columns() + group_ - 1) / group_; }

  /// Up to 16 rows: codes [rows, columns], scales [rows, scales_per_row].
  void read(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> codes, float* scales) noexcept {
    if (step_ == Step::keep) return source_.codes(rows, codes, scales, nullptr);
    if (step_ == Step::fold_minimums) {
      source_.codes(rows, codes, scales, minimums_.data());
      for (std::size_t i = 0; i < rows.size(); ++i)
        fold_row(codes[i], scales + i * scales_per_row(), &minimums_[i * scales_per_row()]);
      return;
    }
    source_.decode(rows, {values_.data(), rows.size(), columns(), stride()});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<const float> values(&values_[i * stride()], columns());
      if (step_ == Step::quantize) {
        scales[i] = quantize(values, codes[i]);
        continue;
      }
      for (std::size_t begin = 0; begin < columns(); begin += group_) {
        const auto group = values.subspan(begin, std::min(group_, columns() - begin));
        scales[i * scales_per_row() + begin / group_] = to_float(quantize_to_4_bits(group, codes[i] + begin));
      }
    }
  }

 private:
  enum class Step { keep, fold_minimums, quantize, quantize_to_4_bits };

  /// Of the rows of floats: no power of 2, so that 16 of them do not share the sets of the L1 cache.
  std::size_t stride() const noexcept { return columns() + 16; }

  /// Codes and scales of a row with minimums become codes and scales without.
  void fold_row(std::int8_t* codes, float* scales, const float* minimums) const noexcept {
    for (std::size_t begin = 0; begin < columns(); begin += group_, codes += group_, ++scales, ++minimums) {
      *scales = fold_minimum({codes, std::min(group_, columns() - begin)}, *scales, *minimums);
    }
  }

  /// Returns the new scale, rounded to f16.
  float fold_minimum(std::span<std::int8_t> codes, float scale, float minimum) const noexcept {
    const int max_code = (1 << format_.bits) - 1;
    int best_factor = 0, best_offset = 0;
    float min_error = std::numeric_limits<float>::infinity();
    for (int factor = 1; factor * max_code <= 254; ++factor) {
      const float exact = minimum * static_cast<float>(factor) / scale, offset = std::nearbyint(exact);
      const bool in_range =
          offset >= -127 && offset + static_cast<float>(max_code * factor) <= 127;  // never with a NaN
      const float error = std::fabs(exact - offset) / static_cast<float>(factor);
      if (!in_range || error >= min_error) continue;
      min_error = error;
      best_factor = factor;
      best_offset = static_cast<int>(offset);
    }
    if (best_factor == 0) return quantize_group(codes, scale, minimum);
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(best_factor * code + best_offset);
    return to_float(to_half(scale / static_cast<float>(best_factor)));
  }

  /// A group whose minimum is out of proportion to its scale, or that is not finite.
  static float quantize_group(std::span<std::int8_t> codes, float scale, float minimum) noexcept {
    std::array<float, 32> values;
    for (std::size_t i = 0; i < codes.size(); ++i) values[i] = scale * static_cast<float>(codes[i]) + minimum;
    const float rounded = to_float(to_half(quantize(std::span(values).first(codes.size()), codes.data())));
    if (!std::isfinite(rounded) || rounded == 0) std::fill(codes.begin(), codes.end(), std::int8_t{0});
    return rounded;
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

  const WeightSource& source_;
  CodeFormat format_;
  Step step_ = Step::quantize;
  std::size_t group_ = 0;
  std::vector<float> values_;    // [16, stride]
  std::vector<float> minimums_;  // [16, scales_per_row]
};

}  // namespace tulle
