// SPDX-License-Identifier: Apache-2.0
/// \file Codes of 4 bits as GGUF's blocks of 32 store them (L3).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tulle::detail {

/// 16 bytes: columns 0 to 15 in the low nibbles, 16 to 31 in the high ones. codes [32] = nibble - zero.
inline void unpack_nibbles(const std::byte* bytes, int zero, std::int8_t* codes) noexcept {
  for (std::size_t i = 0; i < 16; ++i) {
    const int pair = static_cast<int>(bytes[i]);
    codes[i] = static_cast<std::int8_t>((pair & 15) - zero);
    codes[i + 16] = static_cast<std::int8_t>((pair >> 4) - zero);
  }
}

}  // namespace tulle::detail
