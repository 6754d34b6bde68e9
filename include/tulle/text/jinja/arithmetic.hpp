// SPDX-License-Identifier: Apache-2.0
/// \file The arithmetic of expressions, with Python's meaning on 64-bit integers (L2, text).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/markup.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

namespace detail {

[[noreturn]] inline void refuse_operands(std::string_view sign, const Value& a, const Value& b) {
  fail(ErrorCode::invalid_argument, "cannot compute ", a.type_name(), " ", sign, " ", b.type_name());
}

inline std::int64_t checked(bool overflow, std::int64_t result) {
  if (overflow) fail(ErrorCode::invalid_argument, "an integer does not fit 64 bits");
  return result;
}

inline std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &result);
  return checked(overflow, result);
}

/// `sign` is one of + - * % and, for //, the letter f.
inline Value integer_arithmetic(char sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (sign) {
    case '+': overflow = __builtin_add_overflow(a, b, &result); return checked(overflow, result);
    case '-': overflow = __builtin_sub_overflow(a, b, &result); return checked(overflow, result);
    case '*': return product(a, b);
    default: break;
  }
  if (b == 0) fail(ErrorCode::invalid_argument, "division by zero");
  if (b == -1) return sign == '%' ? Value(std::int64_t{0}) : integer_arithmetic('-', 0, a);
  const std::int64_t quotient = a / b, remainder = a % b;
  const bool floor = remainder != 0 && (remainder < 0) != (b < 0);  // Python rounds down, C++ towards zero
  return sign == '%' ? remainder + (floor ? b : 0) : quotient - (floor ? 1 : 0);
}

/// `sign` is one of + - * / % and, for //, the letter f.
inline Value real_arithmetic(char sign, double a, double b) {
  switch (sign) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: break;
  }
  if (b == 0) fail(ErrorCode::invalid_argument, "division by zero");
  if (sign == '/') return a / b;
  const double truncated = std::fmod(a, b);
  const bool floors = truncated != 0 && (truncated < 0) != (b < 0);
  if (sign == '%') return floors ? truncated + b : truncated;
  return std::round((a - truncated) / b) - (floors ? 1 : 0);  // exact, where a / b may round up to an integer
}

inline Value repeat(Budget& budget, const Value& value, std::int64_t times) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (value.is(Kind::text)) {
    budget.allocate(count, value.text().size());
    std::string text;
    for (std::size_t i = 0; i < count && !value.text().empty(); ++i) text += value.text();
    return value.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
  }
  budget.allocate(count, value.items().size() * sizeof(Value));
  Items items;
  for (std::size_t i = 0; i < count && !value.items().empty(); ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return Value::sequence(std::move(items), value.flavor());
}

inline bool is_repeatable(const Value& value) {
  return value.is(Kind::text) || (value.is(Kind::sequence) && !value.is(Flavor::generator));
}

}  // namespace detail

/// Python's `a + b`: numbers, strings, lists, tuples.
inline Value add(Budget& budget, const Value& a, const Value& b) {
  defined(a), defined(b);
  if (a.is_integral() && b.is_integral()) return detail::integer_arithmetic('+', a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return a.real() + b.real();
  if (a.is(Kind::text) && b.is(Kind::text)) {
    if (a.is_markup() != b.is_markup()) return add(budget, escaped(budget, a), escaped(budget, b));
    budget.allocate(a.text().size() + b.text().size());
    std::string text = a.text() + b.text();
    return a.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
  }
  if (!detail::is_repeatable(a) || a.kind() != b.kind() || a.flavor() != b.flavor()) detail::refuse_operands("+", a, b);
  budget.allocate(a.items().size() + b.items().size(), sizeof(Value));
  Items items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return Value::sequence(std::move(items), a.flavor());
}

/// Python's `a * b`: numbers, and a string or list times an integer.
inline Value multiply(Budget& budget, const Value& a, const Value& b) {
  defined(a), defined(b);
  if (a.is_integral() && b.is_integral()) return detail::integer_arithmetic('*', a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return a.real() * b.real();
  if (detail::is_repeatable(a) && b.is_integral()) return detail::repeat(budget, a, b.integer());
  if (detail::is_repeatable(b) && a.is_integral()) return detail::repeat(budget, b, a.integer());
  detail::refuse_operands("*", a, b);
}

/// Python's - / // % on numbers.
inline Value arithmetic(std::string_view sign, const Value& a, const Value& b) {
  defined(a), defined(b);
  if (!a.is_number() || !b.is_number()) detail::refuse_operands(sign, a, b);
  const bool integers = a.is_integral() && b.is_integral();
  const char code = sign == "//" ? 'f' : sign[0];
  if (integers && code != '/') return detail::integer_arithmetic(code, a.integer(), b.integer());
  return detail::real_arithmetic(code, a.real(), b.real());
}

}  // namespace tulle::jinja
