// SPDX-License-Identifier: Apache-2.0
/// \file Arguments bound to the parameters of a built-in function, as Python binds them (L2, text).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The arguments of one call by the position of their parameter.
/// Errors:   invalid_argument for too many arguments, unknown names, and values of the wrong type.
/// Lifetime: refers to the arguments and to the names it was made from.
class Bound {
 public:
  Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> parameters)
      : function_(function), parameters_(parameters), values_(parameters.size(), nullptr) {
    if (arguments.positional.size() > values_.size()) {
      fail(ErrorCode::invalid_argument, function_, "() takes at most ", values_.size(), " arguments, ",
           arguments.positional.size(), " were given");
    }
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
    for (const auto& [name, value] : arguments.named) bind(name, value);
  }

  bool has(std::size_t parameter) const { return values_[parameter] != nullptr; }

  /// The argument. Errors: invalid_argument where it was not given.
  const Value& required(std::size_t parameter) const {
    if (!has(parameter)) {
      fail(ErrorCode::invalid_argument, function_, "() needs the argument '", parameters_[parameter], "'");
    }
    return *values_[parameter];
  }

  Value value(std::size_t parameter, Value fallback) const { return has(parameter) ? *values_[parameter] : fallback; }

  bool truth(std::size_t parameter, bool fallback) const {
    return has(parameter) ? values_[parameter]->truth() : fallback;
  }

  std::int64_t integer(std::size_t parameter, std::int64_t fallback) const {
    if (!has(parameter)) return fallback;
    if (!values_[parameter]->is_integral()) refuse(parameter, "an integer");
    return values_[parameter]->integer();
  }

  /// A string that must be given.
  const std::string& text(std::size_t parameter) const {
    if (!required(parameter).is(Kind::text)) refuse(parameter, "a string");
    return values_[parameter]->text();
  }

  std::string text(std::size_t parameter, std::string_view fallback) const {
    return has(parameter) ? text(parameter) : std::string(fallback);
  }

 private:
  void bind(std::string_view name, const Value& value) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i] != name) continue;
      if (has(i)) fail(ErrorCode::invalid_argument, function_, "() got two values for the argument '", name, "'");
      values_[i] = &value;
      return;
    }
    fail(ErrorCode::invalid_argument, function_, "() takes no argument named '", name, "'");
  }

  [[noreturn]] void refuse(std::size_t parameter, std::string_view wanted) const {
    fail(ErrorCode::invalid_argument, function_, "() wants ", wanted, " as '", parameters_[parameter], "', not ",
         values_[parameter]->type_name());
  }

  std::string_view function_;
  std::vector<std::string_view> parameters_;
  std::vector<const Value*> values_;
};

}  // namespace tulle::jinja
