// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's blocks of 256 columns: Q2_K to Q6_K, Q8_K, IQ4_XS, TQ1_0, TQ2_0 (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tulle/format/encoding/blocks_of_32.hpp>
#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

inline unsigned byte_at(const std::byte* block, std::size_t at) noexcept {
  return static_cast<unsigned>(block[at]);
}
inline float signed_factor(unsigned value, int zero) noexcept {
  return static_cast<float>(static_cast<int>(value) - zero);
}

/// A block: 16 factors of 4 bits, the scale's low and the minimum's high; 64 bytes of bit pairs; f16 d, f16 m.
inline void factors_of_q2_k(const std::byte* block, float* of_scales, float* of_minimums) noexcept {
  for (std::size_t group = 0; group < 16; ++group) {
    of_scales[group] = static_cast<float>(byte_at(block, group) & 15);
    of_minimums[group] = static_cast<float>(byte_at(block, group) >> 4);
  }
}
inline constexpr BlockLayout q2_k_block{
    .low = {16, 2, 32}, .scale_at = 80, .minimum_at = 82, .factors = factors_of_q2_k};

/// A block: 32 bytes of third bits, 64 bytes of bit pairs, 12 bytes of 6-bit factors that are 32 too large, f16 d. Codes
/// are 4 too large.
inline void factors_of_q3_k(const std::byte* block, float* of_scales, float*) noexcept {
  constexpr std::size_t low = 96, high = 104;
  for (std::size_t group = 0; group < 16; ++group) {
    const unsigned nibble = byte_at(block, low + group % 8) >> group / 8 * 4 & 15;
    const unsigned pair = byte_at(block, high + group % 4) >> group / 4 * 2 & 3;
    of_scales[group] = signed_factor(nibble | pair << 4, 32);
  }
}
inline constexpr BlockLayout q3_k_block{
    .low = {32, 2, 32}, .high = {0, 1, 32}, .zero = 4, .scale_at = 108, .factors = factors_of_q3_k};

/// Blocks of Q4_K and Q5_K: f16 d, f16 m, 12 bytes of 6-bit factors, (32 bytes of fifth bits,) 128 bytes of nibbles.
inline void factors_of_q4_k(const std::byte* block, float* of_scales, float* of_minimums) noexcept {
  constexpr std::size_t factors = 4;
  for (std::size_t group = 0; group < 8; ++group) {
    unsigned scale = byte_at(block, factors + group % 4) & 63, minimum = byte_at(block, factors + 4 + group % 4) & 63;
    if (group >= 4) {  // 4 bits here, the upper 2 above the factors of the group four before
      const unsigned low = byte_at(block, factors + 4 + group);
      scale = (low & 15) | byte_at(block, factors + group - 4) >> 6 << 4;
      minimum = low >> 4 | byte_at(block, factors + group) >> 6 << 4;
    }
    of_scales[group] = static_cast<float>(scale);
    of_minimums[group] = static_cast<float>(minimum);
  }
}
inline constexpr BlockLayout q4_k_block{.low = {16, 4, 32}, .minimum_at = 2, .factors = factors_of_q4_k};
inline constexpr BlockLayout q5_k_block{
    .low = {48, 4, 32}, .high = {16, 1, 32}, .minimum_at = 2, .factors = factors_of_q4_k};

/// A block: 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 int8 factors, f16 d. Codes are 32 too large.
inline void factors_of_q6_k(const std::byte* block, float* of_scales, float*) noexcept {
  for (std::size_t group = 0; group < 16; ++group) {
    of_scales[group] = static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
  }
}
inline constexpr BlockLayout q6_k_block{
    .low = {0, 4, 64}, .high = {128, 2, 32}, .zero = 32, .scale_at = 208, .factors = factors_of_q6_k};

/// A block: f32 d, 256 codes, and sums of them that only ggml's products need.
inline constexpr BlockLayout q8_k_block{.low = {4, 8, 32}, .load_scale = load_unaligned<float>};

/// A block: f16 d, 8 upper bit pairs of factors in 2 bytes, their low nibbles in 4 bytes, nibbles. Factors are 32 too
/// large.
inline void factors_of_iq4_xs(const std::byte* block, float* of_scales, float*) noexcept {
  for (std::size_t group = 0; group < 8; ++group) {
    const unsigned nibble = byte_at(block, 4 + group / 2) >> group % 2 * 4 & 15;
    const unsigned pair = byte_at(block, 2 + group / 4) >> group % 4 * 2 & 3;
    of_scales[group] = signed_factor(nibble | pair << 4, 32);
  }
}
inline constexpr BlockLayout iq4_xs_block{.low = {8, 4, 16}, .table = iq4_values.data(), .factors = factors_of_iq4_xs};

/// A block: 48 bytes of 5 ternary digits each, 4 bytes of 4, f16 d. A byte is the number 0.d1 d2 ... in base 3, times
/// 256 and rounded up: multiplied by 3^k, modulo 256, it begins with digit k + 1. The bytes are taken 32, 16 and 4 at a
/// time, first the first digit of all of them.
inline void unpack_tq1_0(const std::byte* block, std::int8_t* codes) noexcept {
  constexpr struct {
    std::size_t first, count, digits;
  } parts[]{{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  for (const auto& part : parts) {
    for (std::size_t digit = 0, power = 1; digit < part.digits; ++digit, power *= 3) {
      for (std::size_t i = 0; i < part.count; ++i) {
        const std::size_t fraction = byte_at(block, part.first + i) * power & 255;
        *codes++ = static_cast<std::int8_t>(static_cast<int>(fraction * 3 >> 8) - 1);
      }
    }
  }
}
inline constexpr BlockLayout tq1_0_block{.unpack = unpack_tq1_0, .scale_at = 52};

/// A block: 64 bytes of bit pairs that are 1 too large, f16 d.
inline constexpr BlockLayout tq2_0_block{.low = {0, 2, 32}, .zero = 1, .scale_at = 64};

}  // namespace detail

inline constexpr RowEncoding q2_k_rows{
    DType::q2_k, {.bits = 2, .group = 16, .block = 256, .has_minimums = true}, detail::q2_k_block};
inline constexpr RowEncoding q3_k_rows{DType::q3_k, {.bits = 3, .group = 16, .block = 256}, detail::q3_k_block};
inline constexpr RowEncoding q4_k_rows{
    DType::q4_k, {.bits = 4, .group = 32, .block = 256, .has_minimums = true}, detail::q4_k_block};
inline constexpr RowEncoding q5_k_rows{
    DType::q5_k, {.bits = 5, .group = 32, .block = 256, .has_minimums = true}, detail::q5_k_block};
inline constexpr RowEncoding q6_k_rows{DType::q6_k, {.bits = 6, .group = 16, .block = 256}, detail::q6_k_block};
inline constexpr RowEncoding q8_k_rows{DType::q8_k, {.bits = 8, .group = 32}, detail::q8_k_block};
inline constexpr RowEncoding iq4_xs_rows{DType::iq4_xs, {.bits = 8, .group = 32, .block = 256}, detail::iq4_xs_block};
inline constexpr RowEncoding tq1_0_rows{
    DType::tq1_0, {.bits = 2, .group = 32, .half_scales = true}, detail::tq1_0_block};
inline constexpr RowEncoding tq2_0_rows{
    DType::tq2_0, {.bits = 3, .group = 32, .half_scales = true}, detail::tq2_0_block};

}  // namespace tulle
