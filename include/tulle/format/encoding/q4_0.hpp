// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's Q4_0: blocks of 32 codes of 4 bits with an f16 scale (L3).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/format/encoding/file_rows.hpp>
#include <tulle/format/encoding/nibbles.hpp>

namespace tulle {

namespace detail {

/// A block: f16 scale, 16 bytes of nibbles that are 8 too large.
inline void codes_of_q4_0(const std::byte* block, std::size_t columns, std::int8_t* codes, float* scales,
                          float*) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 32, block += 18) {
    scales[begin / 32] = load_half(block);
    unpack_nibbles(block + 2, 8, codes + begin);
  }
}

inline void decode_q4_0(const std::byte* block, std::size_t columns, float* out) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 32, block += 18) {
    std::int8_t codes[32];
    float scale = 0;
    codes_of_q4_0(block, 32, codes, &scale, nullptr);
    for (std::size_t i = 0; i < 32; ++i) out[begin + i] = scale * static_cast<float>(codes[i]);
  }
}

}  // namespace detail

inline constexpr RowEncoding q4_0_rows{
    DType::q4_0, {.bits = 4, .group = 32, .half_scales = true}, detail::decode_q4_0, detail::codes_of_q4_0};

}  // namespace tulle
