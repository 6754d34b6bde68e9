// SPDX-License-Identifier: Apache-2.0
/// \file Tokens to the names that statements bind: targets of assignments, parameters of macros (L2, text).
#pragma once

#include <string>
#include <utility>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/expression_parser.hpp>
#include <tulle/text/jinja/token_cursor.hpp>

namespace tulle::jinja {

/// a; a, b; (a, b); with namespaces also a.x. Errors: malformed, with the line.
inline Target parse_target(TokenCursor& cursor, bool with_namespace) {
  Target target;
  const bool in_parentheses = cursor.take_sign("(");
  do {
    if (!target.parts.empty()) {
      target.unpacks = true;
      if (in_parentheses && cursor.sees_sign(")")) break;
    }
    Target::Part part{cursor.expect(TokenKind::name, "a name to assign to").text, ""};
    if (with_namespace && cursor.take_sign(".")) part.attribute = cursor.expect(TokenKind::name, "an attribute").text;
    target.parts.push_back(std::move(part));
  } while (cursor.take_sign(","));
  if (in_parentheses) cursor.expect_sign(")");
  return target;
}

/// (a, b=1): names, and defaults from some name on. Errors: malformed, with the line.
inline Parameters parse_parameters(TokenCursor& cursor, ExpressionParser& expressions) {
  Parameters parameters;
  cursor.expect_sign("(");
  while (!cursor.take_sign(")")) {
    if (!parameters.empty()) {
      cursor.expect_sign(",");
      if (cursor.take_sign(")")) break;
    }
    std::string name = cursor.expect(TokenKind::name, "the name of a parameter").text;
    ExpressionPtr fallback = cursor.take_sign("=") ? expressions.parse() : nullptr;
    if (!fallback && !parameters.empty() && parameters.back().second) {
      cursor.refuse("the parameter '", name, "' needs a default, as the one before it has one");
    }
    parameters.emplace_back(std::move(name), std::move(fallback));
  }
  return parameters;
}

}  // namespace tulle::jinja
