// SPDX-License-Identifier: Apache-2.0
/// \file A hash of bytes that tells changed files from unchanged ones (L0).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tulle {

/// 64 bits of `bytes`, the same on every machine. Four lanes of 8 bytes are multiplied and rotated side by side, about
/// as fast as memory is read. It finds accidents; it does not resist an attacker.
inline std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  std::uint64_t lanes[4] = {seed, seed ^ odd, ~seed, seed + odd};
  const auto step = [&](const std::byte* at) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t word;
      std::memcpy(&word, at + 8 * i, sizeof word);
      lanes[i] = std::rotl((lanes[i] ^ word) * odd, 29);
    }
  };
  const std::size_t whole = bytes.size() / 32 * 32;
  for (std::size_t at = 0; at < whole; at += 32) step(bytes.data() + at);
  if (whole != bytes.size()) {
    std::byte last[32] = {};
    std::memcpy(last, bytes.data() + whole, bytes.size() - whole);
    step(last);
  }
  std::uint64_t hash = bytes.size();
  for (const std::uint64_t lane : lanes) {
    hash = (hash ^ lane) * odd;
    hash ^= hash >> 32;
  }
  return hash;
}

inline std::uint64_t content_hash(std::string_view text, std::uint64_t seed = 0) noexcept {
  return content_hash(std::as_bytes(std::span(text)), seed);
}

}  // namespace tulle
