// SPDX-License-Identifier: Apache-2.0
/// \file The values of expressions (L2, text).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/arithmetic.hpp>
#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/filters.hpp>
#include <tulle/text/jinja/scope.hpp>

namespace tulle::jinja {

/// Evaluates expressions in a scope.
/// Errors: invalid_argument for operations that the values do not have; capacity from the budget. `line()` then is the
/// line of the source where it happened.
class ExpressionEvaluator {
 public:
  explicit ExpressionEvaluator(Budget& budget) : budget_(budget) {}

  std::size_t line() const { return line_; }
  void set_line(std::size_t line) { line_ = line; }

  Value evaluate(const Expression& expression, const Scope& scope) {
    const Budget::Level level(budget_);
    budget_.spend(1);
    line_ = expression.line;
    return std::visit([&](const auto& node) { return value_of(node, scope, expression.line); }, expression.node);
  }

  /// A filter of a block, on the text of that block.
  Value evaluate_on(const Value& block_text, const Expression& filter, const Scope& scope) {
    const Budget::Level level(budget_);
    const auto& use = std::get<FilterUse>(filter.node);
    const Value input = use.input ? evaluate_on(block_text, *use.input, scope) : block_text;
    return filtered(input, use, scope, filter.line);
  }

  /// Calls what an expression evaluated to.
  Value call(const Value& callee, const Arguments& arguments) {
    if (!callee.is(Kind::callable)) {
      fail(ErrorCode::invalid_argument, "a value of type ", defined(callee).type_name(), " cannot be called");
    }
    return charged(callee.callable().function(budget_, arguments));
  }

  Arguments evaluate(const ArgumentList& list, const Scope& scope) {
    Arguments arguments;
    for (const Argument& argument : list) {
      Value value = evaluate(*argument.value, scope);
      switch (argument.form) {
        case Argument::Form::positional: arguments.positional.push_back(std::move(value)); break;
        case Argument::Form::named: arguments.named.emplace_back(argument.name, std::move(value)); break;
        case Argument::Form::spread_list: spread_list(arguments, iterate(budget_, value).items()); break;
        case Argument::Form::spread_dict: spread_dict(arguments, value); break;
      }
    }
    return arguments;
  }

 private:
  /// The result of a call or filter, with its text on the budget.
  Value charged(Value value) {
    if (value.is(Kind::text)) budget_.allocate(32 + value.text().size());
    return value;
  }

  void spread_list(Arguments& arguments, const Items& items) {
    budget_.allocate(items.size(), sizeof(Value));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }

  void spread_dict(Arguments& arguments, const Value& value) {
    if (!value.is(Kind::mapping)) fail(ErrorCode::invalid_argument, "'**' wants a dict, not ", value.type_name());
    budget_.allocate(value.entries().size(), 4 * sizeof(Value));
    for (const auto& [key, item] : value.entries()) arguments.named.emplace_back(to_text(budget_, key), item);
  }

  Value value_of(const Constant& constant, const Scope&, std::size_t) { return constant.value; }

  Value value_of(const Name& name, const Scope& scope, std::size_t) {
    const Value* found = scope.find(name.name);
    return found != nullptr ? *found : Value::undefined("'", name.name, "' is undefined");
  }

  Value value_of(const ListLiteral& literal, const Scope& scope, std::size_t) {
    budget_.allocate(literal.items.size() + 1, 2 * sizeof(Value));
    Items items;
    for (const ExpressionPtr& item : literal.items) items.push_back(evaluate(*item, scope));
    return Value::sequence(std::move(items), literal.flavor);
  }

  Value value_of(const DictLiteral& literal, const Scope& scope, std::size_t) {
    budget_.allocate(literal.entries.size() + 1, 4 * sizeof(Value));
    Entries entries;
    for (const auto& [key_expression, value_expression] : literal.entries) {
      Value key = evaluate(*key_expression, scope);
      if (key.is(Kind::mapping) || key.is(Flavor::list)) {
        fail(ErrorCode::invalid_argument, "a ", key.type_name(), " cannot be a key of a dict");
      }
      Value value = evaluate(*value_expression, scope);
      const auto same = [&](const auto& entry) { return equal(budget_, entry.first, key); };
      const auto found = std::find_if(entries.begin(), entries.end(), same);
      if (found != entries.end()) {
        found->second = std::move(value);
      } else {
        entries.emplace_back(std::move(key), std::move(value));
      }
    }
    return Value::mapping(std::move(entries));
  }

  Value value_of(const Negation& negation, const Scope& scope, std::size_t) {
    return !evaluate(*negation.operand, scope).truth();
  }

  Value value_of(const Sign& sign, const Scope& scope, std::size_t line) {
    const Value operand = evaluate(*sign.operand, scope);
    line_ = line;
    if (operand.is(Kind::real)) return sign.minus ? -operand.real() : operand.real();  // 0 - x would lose the sign of 0
    return arithmetic(sign.minus ? "-" : "+", std::int64_t{0}, operand);
  }

  Value value_of(const Arithmetic& operation, const Scope& scope, std::size_t line) {
    const Value left = evaluate(*operation.left, scope), right = evaluate(*operation.right, scope);
    line_ = line;
    if (operation.sign == "+") return add(budget_, left, right);
    if (operation.sign == "*") return multiply(budget_, left, right);
    if (operation.sign == "%" && left.is_markup()) {
      return Value::markup(format_percent(budget_, left.text(), escaped_parts(budget_, right)));
    }
    if (operation.sign == "%" && left.is(Kind::text)) return format_percent(budget_, left.text(), right);
    return arithmetic(operation.sign, left, right);
  }

  Value value_of(const Logic& logic, const Scope& scope, std::size_t) {
    Value left = evaluate(*logic.left, scope);
    return left.truth() == logic.is_and ? evaluate(*logic.right, scope) : left;
  }

  Value value_of(const Concatenation& concatenation, const Scope& scope, std::size_t) {
    std::string text;
    for (const ExpressionPtr& part : concatenation.parts) append_text(budget_, text, evaluate(*part, scope));
    return text;
  }

  Value value_of(const Comparison& comparison, const Scope& scope, std::size_t line) {
    Value left = evaluate(*comparison.first, scope);
    for (const auto& [sign, expression] : comparison.rest) {
      Value right = evaluate(*expression, scope);
      line_ = line;
      if (!holds(sign, left, right)) return false;
      left = std::move(right);
    }
    return true;
  }

  bool holds(std::string_view sign, const Value& left, const Value& right) {
    if (sign == "==") return equal(budget_, left, right);
    if (sign == "!=") return !equal(budget_, left, right);
    if (sign == "in") return contains(budget_, right, left);
    if (sign == "not in") return !contains(budget_, right, left);
    const std::partial_ordering order = compare(budget_, left, right);
    if (sign == "<") return order < 0;
    if (sign == "<=") return order <= 0;
    return sign == ">" ? order > 0 : order >= 0;
  }

  Value value_of(const Conditional& conditional, const Scope& scope, std::size_t) {
    if (evaluate(*conditional.test, scope).truth()) return evaluate(*conditional.then, scope);
    if (conditional.otherwise) return evaluate(*conditional.otherwise, scope);
    return Value::undefined("the inline 'if' was false and has no 'else'");
  }

  Value value_of(const AttributeAccess& access, const Scope& scope, std::size_t line) {
    const Value object = evaluate(*access.object, scope);
    line_ = line;
    return attribute(budget_, object, access.name);
  }

  Value value_of(const ItemAccess& access, const Scope& scope, std::size_t line) {
    const Value object = evaluate(*access.object, scope), key = evaluate(*access.key, scope);
    line_ = line;
    return item(budget_, object, key);
  }

  Value value_of(const SliceAccess& access, const Scope& scope, std::size_t line) {
    const Value object = evaluate(*access.object, scope), start = evaluate(*access.start, scope);
    const Value stop = evaluate(*access.stop, scope), step = evaluate(*access.step, scope);
    line_ = line;
    return slice(budget_, object, start, stop, step);
  }

  Value value_of(const Call& use, const Scope& scope, std::size_t line) {
    const Value callee = evaluate(*use.callee, scope);
    const Arguments arguments = evaluate(use.arguments, scope);
    line_ = line;
    return call(callee, arguments);
  }

  Value filtered(const Value& input, const FilterUse& use, const Scope& scope, std::size_t line) {
    const Arguments arguments = evaluate(use.arguments, scope);
    line_ = line;
    return charged(apply_filter(budget_, use.name, input, arguments));
  }

  Value value_of(const FilterUse& use, const Scope& scope, std::size_t line) {
    return filtered(evaluate(*use.input, scope), use, scope, line);
  }

  Value value_of(const TestUse& use, const Scope& scope, std::size_t line) {
    const Value input = evaluate(*use.input, scope);
    const Arguments arguments = evaluate(use.arguments, scope);
    line_ = line;
    return apply_predicate(budget_, use.name, input, arguments);
  }

  Budget& budget_;
  std::size_t line_ = 1;
};

}  // namespace tulle::jinja
