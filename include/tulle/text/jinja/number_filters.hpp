// SPDX-License-Identifier: Apache-2.0
/// \file The filters that return numbers (L2, text).
#pragma once

#include <cmath>
#include <cstdint>

#include <tulle/text/jinja/arithmetic.hpp>
#include <tulle/text/jinja/text_filters.hpp>

namespace tulle::jinja {

namespace detail {

inline Value absolute(Budget&, V input, A) {
  if (!defined(input).is_number()) fail(ErrorCode::invalid_argument, "wants a number, not ", input.type_name());
  if (input.is(Kind::real)) return std::fabs(input.real());
  return input.integer() < 0 ? integer_arithmetic('-', 0, input.integer()) : Value(input.integer());
}

/// Python's int(float). Errors: invalid_argument beyond 64 bits.
inline std::int64_t truncated(double real) {
  if (!(real > -9.2e18 && real < 9.2e18)) fail(ErrorCode::invalid_argument, "a number does not fit a 64-bit integer");
  return static_cast<std::int64_t>(real);
}

/// Jinja's int: what cannot be read becomes the default.
inline Value to_integer(Budget&, V input, A arguments) {
  const Bound bound("int", arguments, {"default"});
  if (defined(input).is_integral()) return input.integer();
  if (input.is(Kind::real)) return truncated(input.real());
  if (input.is(Kind::text)) {
    if (const auto integer = parse_integer(input.text())) return *integer;
    if (const auto real = parse_real(input.text()); real && std::isfinite(*real)) return truncated(*real);
  }
  return bound.value(0, std::int64_t{0});
}

/// Jinja's float: what cannot be read becomes the default.
inline Value to_real(Budget&, V input, A arguments) {
  const Bound bound("float", arguments, {"default"});
  if (defined(input).is_number()) return input.real();
  if (input.is(Kind::text)) {
    if (const auto real = parse_real(input.text())) return *real;
  }
  return bound.value(0, 0.0);
}

inline constexpr NamedFilter number_filters[] = {
    {"abs", absolute},
    {"float", to_real},
    {"int", to_integer},
};

}  // namespace detail

}  // namespace tulle::jinja
