// SPDX-License-Identifier: Apache-2.0
/// \file The arguments of a macro's call as variables of its body (L2, text).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/scope.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// Sets the parameters of `macro` in `scope`: given ones, then defaults through `evaluate(expression)`, which can use
/// the parameters before it; without a default they are undefined. Errors: invalid_argument for arguments that the
/// macro does not take.
template <class Evaluate>
void bind_parameters(const MacroDefinition& macro, const Arguments& arguments, Scope& scope, Evaluate evaluate) {
  const std::size_t given = arguments.positional.size();
  if (given > macro.parameters.size()) {
    fail(ErrorCode::invalid_argument, "macro '", macro.name, "' takes at most ", macro.parameters.size(),
         " arguments, ", given, " were given");
  }
  std::vector<bool> bound(macro.parameters.size(), false);
  for (std::size_t i = 0; i < given; ++i) {
    scope.set(macro.parameters[i].first, arguments.positional[i]);
    bound[i] = true;
  }
  for (const auto& [name, value] : arguments.named) {
    const auto named = [&wanted = name](const auto& parameter) { return parameter.first == wanted; };
    const auto found = std::find_if(macro.parameters.begin(), macro.parameters.end(), named);
    if (found == macro.parameters.end()) {
      fail(ErrorCode::invalid_argument, "macro '", macro.name, "' takes no argument named '", name, "'");
    }
    const auto index = static_cast<std::size_t>(found - macro.parameters.begin());
    if (bound[index]) fail(ErrorCode::invalid_argument, "macro '", macro.name, "' got two values for '", name, "'");
    scope.set(name, value);
    bound[index] = true;
  }
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    if (bound[i]) continue;
    const auto& [name, fallback] = macro.parameters[i];
    scope.set(name, fallback ? evaluate(*fallback) : Value::undefined("parameter '", name, "' was not provided"));
  }
}

}  // namespace tulle::jinja
