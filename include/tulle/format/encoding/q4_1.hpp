// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's Q4_1: blocks of 32 codes of 4 bits with an f16 scale and an f16 minimum (L3).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/format/encoding/file_rows.hpp>
#include <tulle/format/encoding/nibbles.hpp>

namespace tulle {

namespace detail {

/// A block: f16 scale, f16 minimum, 16 bytes of nibbles.
inline void codes_of_q4_1(const std::byte* block, std::size_t columns, std::int8_t* codes, float* scales,
                          float* minimums) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 32, block += 20) {
    scales[begin / 32] = load_half(block);
    minimums[begin / 32] = load_half(block + 2);
    unpack_nibbles(block + 4, 0, codes + begin);
  }
}

inline void decode_q4_1(const std::byte* block, std::size_t columns, float* out) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 32, block += 20) {
    std::int8_t codes[32];
    float scale = 0, minimum = 0;
    codes_of_q4_1(block, 32, codes, &scale, &minimum);
    for (std::size_t i = 0; i < 32; ++i) out[begin + i] = scale * static_cast<float>(codes[i]) + minimum;
  }
}

}  // namespace detail

inline constexpr RowEncoding q4_1_rows{DType::q4_1,
                                       {.bits = 4, .group = 32, .has_minimums = true, .half_scales = true},
                                       detail::decode_q4_1,
                                       detail::codes_of_q4_1};

}  // namespace tulle
