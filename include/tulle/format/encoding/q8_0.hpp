// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's Q8_0: blocks of 32 int8 codes with an f16 scale (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

/// A block: f16 scale, 32 codes.
inline void decode_q8_0(const std::byte* block, std::size_t columns, float* out) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 32, block += 34) {
    const float scale = load_half(block);
    for (std::size_t i = 0; i < 32; ++i) {
      out[begin + i] = scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
    }
  }
}

inline void codes_of_q8_0(const std::byte* block, std::size_t columns, std::int8_t* codes, float* scales,
                          float*) noexcept {
  for (std::size_t begin = 0; begin < columns; begin += 32, block += 34) {
    scales[begin / 32] = load_half(block);
    std::memcpy(codes + begin, block + 2, 32);
  }
}

}  // namespace detail

inline constexpr RowEncoding q8_0_rows{
    DType::q8_0, {.bits = 8, .group = 32, .half_scales = true}, detail::decode_q8_0, detail::codes_of_q8_0};

}  // namespace tulle
