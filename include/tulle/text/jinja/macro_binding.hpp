// SPDX-License-Identifier: Apache-2.0
/// \file The arguments of a macro's call as variables of its body (L2, text).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/scope.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

namespace detail {

/// Binds the named arguments: parameters, then `caller`, then what goes into `kwargs`.
inline void bind_named(const MacroDefinition& macro, const Arguments& arguments, std::vector<bool>& bound,
                       Scope& scope) {
  Entries others;
  for (const auto& [name, value] : arguments.named) {
    const auto named = [&wanted = name](const auto& parameter) { return parameter.first == wanted; };
    const auto found = std::find_if(macro.parameters.begin(), macro.parameters.end(), named);
    if (found != macro.parameters.end()) {
      const auto index = static_cast<std::size_t>(found - macro.parameters.begin());
      if (bound[index]) {
        fail(ErrorCode::invalid_argument, "macro '", macro.name, "' got two values for '", name, "'");
      }
      scope.set(name, value);
      bound[index] = true;
    } else if (name == "caller" && macro.uses_caller) {
      scope.set(name, value);
    } else if (macro.uses_kwargs) {
      others.emplace_back(name, value);
    } else {
      fail(ErrorCode::invalid_argument, "macro '", macro.name, "' takes no argument named '", name, "'");
    }
  }
  if (macro.uses_kwargs) scope.set("kwargs", Value::mapping(std::move(others)));
}

}  // namespace detail

/// Sets the parameters of `macro` in `scope`: given ones, then defaults through `evaluate(expression)`, which can use
/// the parameters before it; without a default they are undefined. Also varargs, kwargs and caller, where the body uses
/// them. Errors: invalid_argument for arguments that the macro does not take.
template <class Evaluate>
void bind_parameters(const MacroDefinition& macro, const Arguments& arguments, Scope& scope, Evaluate evaluate) {
  const std::size_t given = std::min(arguments.positional.size(), macro.parameters.size());
  if (given < arguments.positional.size() && !macro.uses_varargs) {
    fail(ErrorCode::invalid_argument, "macro '", macro.name, "' takes at most ", macro.parameters.size(),
         " arguments, ", arguments.positional.size(), " were given");
  }
  if (macro.uses_varargs) {
    const auto rest = arguments.positional.begin() + static_cast<std::ptrdiff_t>(given);
    scope.set("varargs", Value::sequence(Items(rest, arguments.positional.end()), Flavor::tuple));
  }
  if (macro.uses_caller) {
    scope.set("caller", Value::undefined("the macro '", macro.name, "' was not used by a call block"));
  }
  std::vector<bool> bound(macro.parameters.size(), false);
  for (std::size_t i = 0; i < given; ++i) {
    scope.set(macro.parameters[i].first, arguments.positional[i]);
    bound[i] = true;
  }
  detail::bind_named(macro, arguments, bound, scope);
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    if (bound[i]) continue;
    const auto& [name, fallback] = macro.parameters[i];
    scope.set(name, fallback ? evaluate(*fallback) : Value::undefined("parameter '", name, "' was not provided"));
  }
}

}  // namespace tulle::jinja
