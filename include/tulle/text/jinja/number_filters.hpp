// SPDX-License-Identifier: Apache-2.0
/// \file The filters that return numbers (L2, text).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

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
  const Bound bound("int", arguments, {"default", "base"});
  if (defined(input).is_integral()) return input.integer();
  if (input.is(Kind::real)) return truncated(input.real());
  if (input.is(Kind::text)) {
    const std::int64_t base = bound.integer(1, 10);
    if (base != 2 && base != 8 && base != 10 && base != 16)
      fail(ErrorCode::unsupported, "int() knows the bases 2, 8, 10, 16");
    if (const auto integer = parse_integer(input.text(), static_cast<int>(base))) return *integer;
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

/// Python's round(real, digits): correct in decimal, halves to even.
inline double rounded(double real, std::int64_t digits) {
  if (!std::isfinite(real) || digits > 20) return real;
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::isinf(unit) ? 0 : std::nearbyint(real / unit) * unit;
  }
  return parse_real(fixed_text(real, static_cast<int>(digits))).value_or(real);
}

inline Value round(Budget&, V input, A arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::int64_t precision = bound.integer(0, 0);
  const std::string method = bound.text(1, "common");
  if (!defined(input).is_number()) fail(ErrorCode::invalid_argument, "wants a number, not ", input.type_name());
  if (method == "common") {
    if (input.is_integral() && precision >= 0) return input.integer();
    return rounded(input.real(), precision);
  }
  if (method != "ceil" && method != "floor") {
    fail(ErrorCode::invalid_argument, "round() knows the methods 'common', 'ceil' and 'floor'");
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  return (method == "ceil" ? std::ceil(input.real() * unit) : std::floor(input.real() * unit)) / unit;
}

inline constexpr NamedFilter number_filters[] = {
    {"abs", absolute},
    {"float", to_real},
    {"int", to_integer},
    {"round", round},
};

}  // namespace detail

}  // namespace tulle::jinja
