// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's Q6_K: blocks of 256 codes of 6 bits in groups of 16 (L3).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

/// A block: 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 int8 scales and one f16 scale that multiplies
/// them (ggml-quants.c, dequantize_row_q6_K, states the layout). codes [256], scales [16].
inline void codes_of_q6_k_block(const std::byte* block, std::int8_t* codes, float* scales) noexcept {
  const auto byte = [block](std::size_t at) { return static_cast<unsigned>(block[at]); };
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const unsigned low0 = byte(half * 64 + lane), low1 = byte(half * 64 + 32 + lane),
                     high = byte(128 + half * 32 + lane);
      const unsigned quarters[4] = {(low0 & 15) | ((high & 3) << 4), (low1 & 15) | (((high >> 2) & 3) << 4),
                                    (low0 >> 4) | (((high >> 4) & 3) << 4), (low1 >> 4) | ((high >> 6) << 4)};
      for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        codes[half * 128 + quarter * 32 + lane] = static_cast<std::int8_t>(static_cast<int>(quarters[quarter]) - 32);
      }
    }
  }
  const float scale = load_half(block + 208);
  for (std::size_t group = 0; group < 16; ++group) {
    scales[group] = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
  }
}

inline void codes_of_q6_k(const std::byte* block, std::size_t columns, std::int8_t* codes, float* scales,
                          float*) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 256, block += 210) {
    codes_of_q6_k_block(block, codes + begin, scales + begin / 16);
  }
}

inline void decode_q6_k(const std::byte* block, std::size_t columns, float* out) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 256, block += 210) {
    std::int8_t codes[256];
    float scales[16];
    codes_of_q6_k_block(block, codes, scales);
    for (std::size_t i = 0; i < 256; ++i) out[begin + i] = scales[i / 16] * static_cast<float>(codes[i]);
  }
}

}  // namespace detail

inline constexpr RowEncoding q6_k_rows{
    DType::q6_k, {.bits = 6, .group = 16}, detail::decode_q6_k, detail::codes_of_q6_k};

}  // namespace tulle
