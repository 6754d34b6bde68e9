// SPDX-License-Identifier: Apache-2.0
/// \file Masks and counts of the int8 codes that are not zero (L2).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tulle::detail {

static_assert(std::endian::native == std::endian::little, "packed weights are little-endian");

/// Byte k of the result: 1 where code k of 8 is not zero, else 0.
inline std::uint64_t nonzero_bytes(const std::int8_t* codes) noexcept {
  std::uint64_t word;
  std::memcpy(&word, codes, sizeof word);
  constexpr std::uint64_t low_bits = 0x7F7F7F7F7F7F7F7F;
  return (((word & low_bits) + low_bits) | word) >> 7 & 0x0101010101010101;
}

/// Bit k of the result: code k of 8 is not zero.
inline unsigned nonzero_mask_8(const std::int8_t* codes) noexcept {
  return static_cast<unsigned>(nonzero_bytes(codes) * 0x0102040810204080 >> 56);
}

/// How many of `count` codes, a multiple of 128, are not zero.
inline std::size_t count_nonzeros(const std::int8_t* codes, std::size_t count) noexcept {
  std::size_t sum = 0;
  for (std::size_t begin = 0; begin < count; begin += 128) {
    std::uint64_t sums = 0;  // 8 of them, none above 16
    for (std::size_t at = begin; at < begin + 128; at += 8) sums += nonzero_bytes(codes + at);
    sum += sums * 0x0101010101010101 >> 56;
  }
  return sum;
}

/// The same of 16 codes.
inline unsigned nonzero_mask_16(const std::int8_t* codes) noexcept {
  return nonzero_mask_8(codes) | nonzero_mask_8(codes + 8) << 8;
}

/// For every byte, how many bits are set and where: byte i of `places` is the position of the i-th of them.
struct SetBits {
  std::array<std::uint64_t, 256> places{};
  std::array<std::uint8_t, 256> counts{};

  constexpr SetBits() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (std::uint64_t position = 0; position < 8; ++position) {
        if ((byte >> position & 1) != 0) places[byte] |= position << 8 * counts[byte]++;
      }
    }
  }
};
inline constexpr SetBits set_bits{};

inline std::size_t count_set_bits(unsigned mask) noexcept {
  return std::size_t{set_bits.counts[mask & 255]} + set_bits.counts[mask >> 8 & 255];
}

/// Writes the positions of those of 16 bits that are set, in order, and returns their number. Writes over all of out
/// [16].
inline std::size_t put_set_bits(unsigned mask, std::uint8_t* out) noexcept {
  const unsigned low = mask & 255, high = mask >> 8 & 255;
  std::memcpy(out, &set_bits.places[low], 8);
  const std::uint64_t upper = set_bits.places[high] + 0x0808080808080808;
  std::memcpy(out + set_bits.counts[low], &upper, 8);
  return count_set_bits(mask);
}

}  // namespace tulle::detail
