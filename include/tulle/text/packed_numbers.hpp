// SPDX-License-Identifier: Apache-2.0
/// \file Tables of numbers in a compact encoding of variable length (L2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tulle::detail {

/// Reads numbers of 7 bits a byte, the lowest first; the eighth bit says that more follow.
class PackedNumbers {
 public:
  explicit constexpr PackedNumbers(std::span<const std::uint8_t> bytes) noexcept : rest_(bytes) {}

  constexpr bool empty() const noexcept { return rest_.empty(); }

  /// The next number. Requires: not empty.
  constexpr std::uint32_t take() noexcept {
    std::uint32_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      number |= std::uint32_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return number;
    }
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A step of a function over all code points: its value from here to the next step.
struct CodePointStep {
  char32_t begin;
  std::uint8_t value;
};

/// Pairs of the distance from the last step, and a value.
inline std::vector<CodePointStep> unpack_steps(std::span<const std::uint8_t> bytes) {
  std::vector<CodePointStep> steps;
  char32_t begin = 0;
  for (PackedNumbers numbers(bytes); !numbers.empty();) {
    begin += numbers.take();
    steps.push_back({begin, static_cast<std::uint8_t>(numbers.take())});
  }
  return steps;
}

}  // namespace tulle::detail
