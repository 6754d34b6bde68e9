// SPDX-License-Identifier: Apache-2.0
/// \file Finds a threshold in a row of logits without sorting or copying it (L2).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tulle::detail {

/// A number whose unsigned order is the order of the floats; -0 and 0 are one. Not for NaN.
constexpr std::uint32_t ordered_bits(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value + 0.0f);  // -0 + 0 is 0
  const std::uint32_t flips = 0u - (bits >> 31);  // all bits of a negative number, else the sign alone; no branch
  return bits ^ (flips | 0x80000000u);
}

/// The float of an `ordered_bits`.
constexpr float ordered_value(std::uint32_t bits) noexcept {
  return std::bit_cast<float>(bits >> 31 != 0 ? bits ^ 0x80000000u : ~bits);
}

/// Where a running sum fulfilled its condition.
struct Threshold {
  std::uint32_t key = 0;   ///< of the element that fulfilled it
  double mass_before = 0;  ///< of all elements with a smaller key
  double total_mass = 0;
};

/// Takes elements in ascending order of `key(index)`, adds their `mass(index)` (>= 0; 0 leaves an element out), and
/// finds the key at which `reached(sum, total)` first holds, or the largest key when it never does. `reached` must be
/// monotone in its first argument.
///
/// A radix search by histogram: three passes over the elements, of which the second and third process only elements
/// that agree with the digits found so far. Nothing is moved, so no scratch memory is needed.
/// Complexity: O(count); one call of `mass` for each element and then for few. 16 KiB of stack.
template <class Key, class Mass, class Reached>
Threshold find_threshold(std::size_t count, Key key, Mass mass, Reached reached) noexcept {
  constexpr std::size_t digits = 2048;
  Threshold found;
  std::uint32_t known = 0;                       // mask of the key's bits that are decided
  for (const unsigned shift : {21u, 10u, 0u}) {  // 11, 11 and 10 bits
    std::array<double, digits> histogram{};
    for (std::size_t index = 0; index < count; ++index) {
      const std::uint32_t bits = key(index);
      if ((bits & known) != found.key) continue;
      const double amount = mass(index);
      if (amount > 0) histogram[(bits & ~known) >> shift] += amount;
    }
    if (known == 0) {
      for (const double amount : histogram) found.total_mass += amount;
    }
    // Sums in another order may differ in their last bit, so the last digit with any mass is the fallback.
    std::uint32_t chosen = 0;
    double before_chosen = found.mass_before;
    double sum = found.mass_before;
    for (std::uint32_t digit = 0; digit < digits; ++digit) {
      if (histogram[digit] <= 0) continue;
      chosen = digit;
      before_chosen = sum;
      sum += histogram[digit];
      if (reached(sum, found.total_mass)) break;
    }
    found.mass_before = before_chosen;
    found.key |= chosen << shift;
    known = ~std::uint32_t{0} << shift;
  }
  return found;
}

}  // namespace tulle::detail
