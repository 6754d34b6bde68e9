// SPDX-License-Identifier: Apache-2.0
/// \file Elements of a cache for the tests of attention.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/tensor/isa.hpp>

#include "unit/kernel/encoded_matrix.hpp"

namespace tulle::testing {

/// Exactly `count` elements, so that a sanitizer sees a read behind the last.
template <class Element>
std::vector<Element> elements(std::size_t count, std::uint32_t seed) {
  const auto values = random_floats(count, seed);
  std::vector<Element> encoded(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Element, float>) {
      encoded[i] = values[i];
    } else if constexpr (std::is_same_v<Element, Half>) {
      encoded[i] = to_half(values[i]);
    } else {
      encoded[i] = static_cast<std::int8_t>(std::lround(values[i] * 63.5f));
    }
  }
  return encoded;
}

/// Pairs of an instruction set and a type of elements: all of them.
template <class Sets>
struct EveryElement;
template <class... Isa>
struct EveryElement<isa::List<Isa...>> {
  using type = std::tuple<std::pair<Isa, float>..., std::pair<Isa, Half>..., std::pair<Isa, std::int8_t>...>;
};

}  // namespace tulle::testing
