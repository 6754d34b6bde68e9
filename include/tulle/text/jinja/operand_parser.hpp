// SPDX-License-Identifier: Apache-2.0
/// \file Tokens to the operands of expressions: literals, names, accesses, calls, filters, tests (L2, text).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/numbers.hpp>
#include <tulle/text/jinja/token_cursor.hpp>

namespace tulle::jinja {

/// Parses the operands of operators. Errors: malformed, with the line.
/// Lifetime: refers to the cursor.
class OperandParser {
 public:
  explicit OperandParser(TokenCursor& cursor) : cursor_(cursor) {}
  virtual ~OperandParser() = default;

  /// A whole expression, with its operators.
  virtual ExpressionPtr parse(bool with_conditional = true) = 0;

  /// Expressions with commas between them, as one tuple; a single one without a comma is itself.
  ExpressionPtr parse_tuple(bool with_conditional = true, bool in_parentheses = false) {
    Expressions items;
    bool is_tuple = false;
    while (!at_tuple_end()) {
      items.push_back(parse(with_conditional));
      if (!cursor_.take_sign(",")) break;
      is_tuple = true;
    }
    if (items.empty() && !in_parentheses) cursor_.unexpected("an expression");
    if (items.size() == 1 && !is_tuple) return std::move(items.front());
    return make(ListLiteral{std::move(items), Flavor::tuple});
  }

  /// Macros whose bodies are being parsed.
  std::size_t open_macros = 0;

  /// The filters of a filter block or a set block; their input is the block's text.
  ExpressionPtr parse_block_filters() {
    TokenCursor::Nesting nesting(cursor_);
    ExpressionPtr filter = parse_filter(nullptr);
    while (cursor_.take_sign("|")) {
      nesting.add();
      filter = parse_filter(std::move(filter));
    }
    return filter;
  }

 protected:
  template <class Node>
  ExpressionPtr make(Node node) const {
    return std::make_unique<Expression>(Expression{cursor_.last_line(), std::move(node)});
  }

  ExpressionPtr parse_accesses(ExpressionPtr value) {
    TokenCursor::Nesting nesting(cursor_);
    for (;;) {
      if (cursor_.take_sign(".")) {
        if (cursor_.sees(TokenKind::number)) {
          value = make(ItemAccess{std::move(value), parse_number()});
        } else {
          std::string name = cursor_.expect(TokenKind::name, "a name or number behind '.'").text;
          value = make(AttributeAccess{std::move(value), std::move(name)});
        }
      } else if (cursor_.take_sign("[")) {
        value = parse_subscript(std::move(value));
      } else if (cursor_.sees_sign("(")) {
        value = make(Call{std::move(value), parse_arguments()});
      } else {
        return value;
      }
      nesting.add();
    }
  }

  ExpressionPtr parse_filter(ExpressionPtr input) {
    std::string name = parse_dotted_name("the name of a filter");
    ArgumentList arguments = cursor_.sees_sign("(") ? parse_arguments() : ArgumentList();
    return make(FilterUse{std::move(input), std::move(name), std::move(arguments)});
  }

  ExpressionPtr parse_test(ExpressionPtr input) {
    const bool negated = cursor_.take_name("not");
    std::string name = parse_dotted_name("the name of a test");
    ArgumentList arguments;
    if (cursor_.sees_sign("(")) {
      arguments = parse_arguments();
    } else if (starts_operand()) {
      if (cursor_.sees_name("is")) cursor_.refuse("tests with 'is' cannot be chained");
      arguments.push_back({Argument::Form::positional, "", parse_accesses(parse_primary())});
    }
    ExpressionPtr test = make(TestUse{std::move(input), std::move(name), std::move(arguments)});
    return negated ? make(Negation{std::move(test)}) : std::move(test);
  }

  ArgumentList parse_arguments() {
    using Form = Argument::Form;
    ArgumentList arguments;
    cursor_.expect_sign("(");
    while (!cursor_.take_sign(")")) {
      if (!arguments.empty()) {
        cursor_.expect_sign(",");
        if (cursor_.take_sign(")")) break;
      }
      if (cursor_.take_sign("**")) {
        arguments.push_back({Form::spread_dict, "", parse()});
      } else if (cursor_.take_sign("*")) {
        arguments.push_back({Form::spread_list, "", parse()});
      } else if (cursor_.sees(TokenKind::name) && cursor_.sees(TokenKind::sign, 1) && cursor_.peek(1).text == "=") {
        std::string name = cursor_.take().text;
        cursor_.take();
        arguments.push_back({Form::named, std::move(name), parse()});
      } else {
        const bool late = !arguments.empty() && arguments.back().form != Form::positional;
        if (late) cursor_.refuse("a positional argument behind a named one");
        arguments.push_back({Form::positional, "", parse()});
      }
    }
    return arguments;
  }

  ExpressionPtr parse_primary() {
    if (cursor_.sees(TokenKind::name)) return parse_name();
    if (cursor_.sees(TokenKind::number)) return parse_number();
    if (cursor_.sees(TokenKind::text)) {
      std::string text;
      while (cursor_.sees(TokenKind::text)) text += cursor_.take().text;
      return make(Constant{Value(std::move(text))});
    }
    if (cursor_.take_sign("(")) {
      ExpressionPtr value = parse_tuple(true, true);
      cursor_.expect_sign(")");
      return value;
    }
    if (cursor_.take_sign("[")) {
      Expressions items;
      parse_items("]", [&] { items.push_back(parse()); });
      return make(ListLiteral{std::move(items), Flavor::list});
    }
    if (!cursor_.take_sign("{")) cursor_.unexpected("an expression");
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
    parse_items("}", [&] {
      ExpressionPtr key = parse();
      cursor_.expect_sign(":");
      entries.emplace_back(std::move(key), parse());
    });
    return make(DictLiteral{std::move(entries)});
  }

 private:
  bool at_tuple_end() const {
    return cursor_.sees(TokenKind::print_end) || cursor_.sees(TokenKind::block_end) || cursor_.sees_sign(")");
  }

  ExpressionPtr parse_subscript(ExpressionPtr object) {
    const auto bound = [this] {
      return cursor_.sees_sign(":") || cursor_.sees_sign("]") ? make(Constant{None{}}) : parse();
    };
    ExpressionPtr start = cursor_.sees_sign("]") ? nullptr : bound();
    if (!start) cursor_.unexpected("an index");
    if (cursor_.take_sign("]")) return make(ItemAccess{std::move(object), std::move(start)});
    cursor_.expect_sign(":");
    ExpressionPtr stop = bound();
    ExpressionPtr step = cursor_.take_sign(":") ? bound() : make(Constant{None{}});
    cursor_.expect_sign("]");
    return make(SliceAccess{std::move(object), std::move(start), std::move(stop), std::move(step)});
  }

  std::string parse_dotted_name(std::string_view what) {
    std::string name = cursor_.expect(TokenKind::name, what).text;
    while (cursor_.take_sign(".")) name.append(1, '.').append(cursor_.expect(TokenKind::name, what).text);
    return name;
  }

  /// True when a test's argument without parentheses is here.
  bool starts_operand() const {
    if (cursor_.sees(TokenKind::name)) {
      return !cursor_.sees_name("else") && !cursor_.sees_name("or") && !cursor_.sees_name("and");
    }
    return cursor_.sees(TokenKind::text) || cursor_.sees(TokenKind::number) || cursor_.sees_sign("[") ||
           cursor_.sees_sign("{");
  }

  /// Items with commas between them, also behind the last, up to the closing bracket.
  template <class ParseItem>
  void parse_items(std::string_view close, ParseItem parse_item) {
    for (bool first = true; !cursor_.take_sign(close); first = false) {
      if (!first) cursor_.expect_sign(",");
      if (!first && cursor_.take_sign(close)) return;
      parse_item();
    }
  }

  ExpressionPtr parse_name() {
    std::string name = cursor_.take().text;
    if (name == "true" || name == "True") return make(Constant{true});
    if (name == "false" || name == "False") return make(Constant{false});
    if (name == "none" || name == "None") return make(Constant{None{}});
    if (open_macros > 0 && (name == "varargs" || name == "kwargs" || name == "caller")) {
      cursor_.refuse("'", name, "' in a macro is not supported");
    }
    return make(Name{std::move(name)});
  }

  ExpressionPtr parse_number() {
    const std::string text = cursor_.peek().text;
    const bool whole = text.find_first_of(".eE") == std::string::npos;
    const auto integer = whole ? parse_integer(text) : std::nullopt;
    if (whole && !integer) cursor_.refuse("the integer ", text, " does not fit 64 bits");
    const Value value = whole ? Value(*integer) : Value(parse_real(text).value_or(0));
    cursor_.take();
    return make(Constant{value});
  }

 protected:
  TokenCursor& cursor_;
};

}  // namespace tulle::jinja
