// SPDX-License-Identifier: Apache-2.0
/// \file The value of a named argument, given as JSON, read as the required type (L5).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>

namespace tulle {

/// Lifetime: a view of the JSON and of both texts.
/// Errors: every reader throws invalid_argument with the name of the argument, the type it requires and the value it
/// got.
class ArgumentValue {
 public:
  /// `meaning` is the reason that an error message gives.
  ArgumentValue(std::string_view name, std::string_view meaning, const Json& value)
      : name_(name), meaning_(meaning), value_(value) {}

  const Json& json() const noexcept { return value_; }

  bool boolean() const {
    if (!value_.is_boolean()) expected("true or false");
    return value_.get<bool>();
  }

  /// A whole number in [min, 2^32 - 1]; no count here needs more.
  std::size_t count(std::size_t min = 0) const { return count_in(value_, min); }

  /// Any whole number that an int holds.
  int whole() const {
    if (!value_.is_number_integer()) expected("a whole number");
    const bool fits = value_.is_number_unsigned()
                          ? value_.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()}
                          : value_.get<std::int64_t>() >= std::numeric_limits<int>::min() &&
                                value_.get<std::int64_t>() <= std::numeric_limits<int>::max();
    if (!fits) expected("a smaller whole number");
    return value_.get<int>();
  }

  std::uint64_t seed() const {
    const bool negative = value_.is_number_integer() && !value_.is_number_unsigned() && value_.get<std::int64_t>() < 0;
    if (!value_.is_number_integer() || negative) expected("a whole number, 0 or more");
    return value_.get<std::uint64_t>();
  }

  float number() const {
    if (!value_.is_number()) expected("a number");
    const auto wide = value_.get<double>();
    if (!(std::abs(wide) <= double{std::numeric_limits<float>::max()})) expected("a finite number");
    return static_cast<float>(wide);
  }

  std::string text() const {
    if (!value_.is_string()) expected("a text");
    return value_.get<std::string>();
  }

  /// One text, or a list of texts.
  std::vector<std::string> texts() const {
    if (value_.is_string()) return {text()};
    if (!value_.is_array()) expected("a text or a list of texts");
    std::vector<std::string> all;
    for (const Json& each : value_) {
      if (!each.is_string()) expected("a text or a list of texts");
      all.push_back(each.get<std::string>());
    }
    return all;
  }

  /// One count, or a list of counts.
  std::vector<std::size_t> counts() const {
    if (!value_.is_array()) return {count()};
    std::vector<std::size_t> all;
    for (const Json& each : value_) all.push_back(count_in(each, 0));
    return all;
  }

  /// Errors: invalid_argument with the argument's meaning as the reason.
  [[noreturn]] void refuse() const {
    fail(ErrorCode::invalid_argument, "argument \"", name_, "\" cannot be ", shown(), ": ", meaning_);
  }
  void require(bool accepted) const {
    if (!accepted) refuse();
  }

 private:
  std::size_t count_in(const Json& value, std::size_t min) const {
    constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
    if (!value.is_number_integer()) expected("a whole number");
    if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) expected("a whole number, 0 or more");
    const auto number = value.get<std::uint64_t>();
    if (number < min || number > max) {
      expected("a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    }
    return static_cast<std::size_t>(number);
  }

  [[noreturn]] void expected(std::string_view what) const {
    fail(ErrorCode::invalid_argument, "argument \"", name_, "\" needs ", what, ", not ", shown());
  }

  /// The value as one short line of ASCII, whatever bytes it holds.
  std::string shown() const {
    constexpr std::size_t longest = 60;
    if (value_.is_structured()) return value_.is_array() ? "this list" : "this object";
    if (value_.is_string() && value_.get_ref<const std::string&>().size() > longest) return "this long text";
    return value_.dump(-1, ' ', true, Json::error_handler_t::replace);
  }

  std::string_view name_, meaning_;
  const Json& value_;
};

}  // namespace tulle
