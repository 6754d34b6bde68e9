// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's Q5_K: blocks of 256 codes of 5 bits in groups of 32 with a scale and a minimum each (L3).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

/// A block: f16 d, f16 m, 12 bytes of 6-bit factors, 32 bytes of fifth bits, 128 bytes of nibbles. A group's scale is d
/// times its factor, its minimum m times the other, taken off (ggml-quants.c, dequantize_row_q5_K and get_scale_min_k4,
/// state the layout). codes [256], scales and minimums [8].
inline void codes_of_q5_k_block(const std::byte* block, std::int8_t* codes, float* scales, float* minimums) noexcept {
  const auto byte = [block](std::size_t at) { return static_cast<unsigned>(block[at]); };
  constexpr std::size_t factors = 4, fifth_bits = 16, nibbles = 48;
  const float scale = load_half(block), minimum = load_half(block + 2);
  for (std::size_t group = 0; group < 8; ++group) {
    unsigned of_scale = byte(factors + group % 4) & 63, of_minimum = byte(factors + 4 + group % 4) & 63;
    if (group >= 4) {  // 4 bits here, the upper 2 above the factors of the group four before
      const unsigned low = byte(factors + 4 + group);
      of_scale = (low & 15) | byte(factors + group - 4) >> 6 << 4;
      of_minimum = low >> 4 | byte(factors + group) >> 6 << 4;
    }
    scales[group] = scale * static_cast<float>(of_scale);
    minimums[group] = -(minimum * static_cast<float>(of_minimum));
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned pair = byte(nibbles + group / 2 * 32 + i), fifth = byte(fifth_bits + i) >> group & 1;
      codes[group * 32 + i] = static_cast<std::int8_t>((group % 2 == 0 ? pair & 15 : pair >> 4) | fifth << 4);
    }
  }
}

inline void codes_of_q5_k(const std::byte* block, std::size_t columns, std::int8_t* codes, float* scales,
                          float* minimums) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 256, block += 176) {
    codes_of_q5_k_block(block, codes + begin, scales + begin / 32, minimums + begin / 32);
  }
}

inline void decode_q5_k(const std::byte* block, std::size_t columns, float* out) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 256, block += 176) {
    std::int8_t codes[256];
    float scales[8], minimums[8];
    codes_of_q5_k_block(block, codes, scales, minimums);
    for (std::size_t i = 0; i < 256; ++i) {
      out[begin + i] = scales[i / 32] * static_cast<float>(codes[i]) + minimums[i / 32];
    }
  }
}

}  // namespace detail

inline constexpr RowEncoding q5_k_rows{
    DType::q5_k, {.bits = 5, .group = 32, .has_minimums = true}, detail::decode_q5_k, detail::codes_of_q5_k};

}  // namespace tulle
