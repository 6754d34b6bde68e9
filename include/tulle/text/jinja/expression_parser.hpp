// SPDX-License-Identifier: Apache-2.0
/// \file Tokens to expressions, by the precedence of Jinja's operators (L2, text).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/operand_parser.hpp>
#include <tulle/text/jinja/token_cursor.hpp>

namespace tulle::jinja {

/// Parses expressions at a cursor. From loose to tight: x if y else z; or; and; not; comparisons and `in`; + -; ~;
/// * / // %; filters and tests; signs; attributes, items and calls.
/// Errors: malformed, with the line.
class ExpressionParser : public OperandParser {
 public:
  using OperandParser::OperandParser;

  ExpressionPtr parse(bool with_conditional = true) override {
    TokenCursor::Nesting nesting(cursor_);
    nesting.add();
    ExpressionPtr value = parse_or();
    while (with_conditional && cursor_.take_name("if")) {
      nesting.add();
      ExpressionPtr test = parse_or();
      ExpressionPtr otherwise = cursor_.take_name("else") ? parse() : nullptr;
      value = make(Conditional{std::move(test), std::move(value), std::move(otherwise)});
    }
    return value;
  }

 private:
  ExpressionPtr parse_or() {
    TokenCursor::Nesting nesting(cursor_);
    ExpressionPtr left = parse_and();
    while (cursor_.take_name("or")) {
      nesting.add();
      left = make(Logic{false, std::move(left), parse_and()});
    }
    return left;
  }

  ExpressionPtr parse_and() {
    TokenCursor::Nesting nesting(cursor_);
    ExpressionPtr left = parse_not();
    while (cursor_.take_name("and")) {
      nesting.add();
      left = make(Logic{true, std::move(left), parse_not()});
    }
    return left;
  }

  ExpressionPtr parse_not() {
    if (!cursor_.take_name("not")) return parse_comparison();
    TokenCursor::Nesting nesting(cursor_);
    nesting.add();
    return make(Negation{parse_not()});
  }

  std::string take_comparison_sign() {
    if (cursor_.sees_name("not") && cursor_.sees_name("in", 1)) {
      cursor_.take(), cursor_.take();
      return "not in";
    }
    if (cursor_.take_name("in")) return "in";
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (cursor_.take_sign(sign)) return std::string(sign);
    }
    return "";
  }

  ExpressionPtr parse_comparison() {
    ExpressionPtr first = parse_sum();
    std::vector<std::pair<std::string, ExpressionPtr>> rest;
    for (std::string sign; !(sign = take_comparison_sign()).empty();) rest.emplace_back(std::move(sign), parse_sum());
    return rest.empty() ? std::move(first) : make(Comparison{std::move(first), std::move(rest)});
  }

  /// Operands of `next` joined from the left by any of `signs`.
  template <std::size_t Count>
  ExpressionPtr parse_arithmetic(const std::string_view (&signs)[Count], ExpressionPtr (ExpressionParser::*next)()) {
    TokenCursor::Nesting nesting(cursor_);
    ExpressionPtr left = (this->*next)();
    for (std::size_t i = 0; i < Count;) {
      if (cursor_.take_sign(signs[i])) {
        nesting.add();
        left = make(Arithmetic{std::string(signs[i]), std::move(left), (this->*next)()});
        i = 0;
      } else {
        ++i;
      }
    }
    return left;
  }

  ExpressionPtr parse_sum() {
    static constexpr std::string_view signs[] = {"+", "-"};
    return parse_arithmetic(signs, &ExpressionParser::parse_concatenation);
  }

  ExpressionPtr parse_concatenation() {
    ExpressionPtr first = parse_product();
    if (!cursor_.sees_sign("~")) return first;
    Expressions parts;
    parts.push_back(std::move(first));
    while (cursor_.take_sign("~")) parts.push_back(parse_product());
    return make(Concatenation{std::move(parts)});
  }

  ExpressionPtr parse_product() {
    static constexpr std::string_view signs[] = {"*", "/", "//", "%"};
    return parse_arithmetic(signs, &ExpressionParser::parse_filtered);
  }

  ExpressionPtr parse_filtered() {
    TokenCursor::Nesting nesting(cursor_);
    ExpressionPtr value = parse_signed();
    for (;;) {
      if (cursor_.take_sign("|")) {
        value = parse_filter(std::move(value));
      } else if (cursor_.take_name("is")) {
        value = parse_test(std::move(value));
      } else if (cursor_.sees_sign("(")) {
        value = make(Call{std::move(value), parse_arguments()});
      } else {
        return value;
      }
      nesting.add();
    }
  }

  ExpressionPtr parse_signed() {
    const bool minus = cursor_.sees_sign("-");
    if (!minus && !cursor_.sees_sign("+")) return parse_accesses(parse_primary());
    TokenCursor::Nesting nesting(cursor_);
    nesting.add();
    cursor_.take();
    return make(Sign{minus, parse_signed()});
  }
};

}  // namespace tulle::jinja
