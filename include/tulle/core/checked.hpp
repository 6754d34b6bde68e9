// SPDX-License-Identifier: Apache-2.0
/// \file Sizes that come from files: multiplied and added with a check (L0).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/error.hpp>

namespace tulle {

/// a * b. Errors: malformed when the product does not fit; `what` names the size.
inline std::size_t checked_multiply(std::size_t a, std::size_t b, std::string_view what) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail(ErrorCode::malformed, what, " is too large");
  return product;
}

/// a + b. Errors: malformed when the sum does not fit; `what` names the size.
inline std::size_t checked_add(std::size_t a, std::size_t b, std::string_view what) {
  std::size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail(ErrorCode::malformed, what, " is too large");
  return sum;
}

/// The smallest multiple of `step` that is >= value.
constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}

}  // namespace tulle
