// SPDX-License-Identifier: Apache-2.0
/// \file Counter-based random numbers: a pure function of (seed, sequence, position) (L0).
#pragma once

#include <array>
#include <cstdint>

namespace tulle {

/// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11, section 3.3.
/// The multipliers and key increments are the paper's.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// A number in [0, 1) with 53 random bits that depends on its arguments alone, so that the same seed gives the same text
/// whatever the batch, chunk, thread count or draft. `stream` separates several draws at one position.
constexpr double uniform(std::uint64_t seed, std::uint64_t sequence, std::uint32_t position,
                         std::uint32_t stream = 0) noexcept {
  const auto bits =
      philox({static_cast<std::uint32_t>(sequence), static_cast<std::uint32_t>(sequence >> 32), position, stream},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t word = (std::uint64_t{bits[0]} << 32) | bits[1];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

}  // namespace tulle
