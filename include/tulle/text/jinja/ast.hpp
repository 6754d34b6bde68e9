// SPDX-License-Identifier: Apache-2.0
/// \file The syntax tree of a template (L2, text).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

struct Expression;
struct Statement;

using ExpressionPtr = std::unique_ptr<Expression>;  // null where a part is left out
using Expressions = std::vector<ExpressionPtr>;
using Body = std::vector<Statement>;

/// One argument of a call: `value`, `name=value`, `*value` or `**value`.
struct Argument {
  enum class Form : std::uint8_t { positional, named, spread_list, spread_dict };
  Form form;
  std::string name;
  ExpressionPtr value;
};
using ArgumentList = std::vector<Argument>;

/// The names of a macro's parameters, with their defaults.
using Parameters = std::vector<std::pair<std::string, ExpressionPtr>>;

struct Constant {
  Value value;
};
struct Name {
  std::string name;
};
struct ListLiteral {
  Expressions items;
  Flavor flavor;
};
struct DictLiteral {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
/// not x
struct Negation {
  ExpressionPtr operand;
};
/// -x, +x
struct Sign {
  bool minus;
  ExpressionPtr operand;
};
/// + - * / // %
struct Arithmetic {
  std::string sign;
  ExpressionPtr left, right;
};
struct Logic {
  bool is_and;
  ExpressionPtr left, right;
};
/// a ~ b ~ c
struct Concatenation {
  Expressions parts;
};
/// a < b <= c, in, "not in"
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<std::string, ExpressionPtr>> rest;
};
struct Conditional {
  ExpressionPtr test, then, otherwise;
};
struct AttributeAccess {
  ExpressionPtr object;
  std::string name;
};
struct ItemAccess {
  ExpressionPtr object, key;
};
struct SliceAccess {
  ExpressionPtr object, start, stop, step;
};
struct Call {
  ExpressionPtr callee;
  ArgumentList arguments;
};
/// no innermost input: a filter block
struct FilterUse {
  ExpressionPtr input;
  std::string name;
  ArgumentList arguments;
};
struct TestUse {
  ExpressionPtr input;
  std::string name;
  ArgumentList arguments;
};

struct Expression {
  std::size_t line;
  std::variant<Constant, Name, ListLiteral, DictLiteral, Negation, Sign, Arithmetic, Logic, Concatenation, Comparison,
               Conditional, AttributeAccess, ItemAccess, SliceAccess, Call, FilterUse, TestUse>
      node;
};

/// What is assigned to: one name, `namespace.attribute`, or several of them.
struct Target {
  struct Part {
    std::string name;
    std::string attribute;  // empty unless the name is a namespace
  };
  std::vector<Part> parts;
  bool unpacks = false;  // also `a, = ...`
};

struct MacroDefinition {
  std::string name;
  Parameters parameters;
  Body body;
};

struct Text {
  std::string text;
};
struct Print {
  ExpressionPtr value;
};
/// no test: else
struct Branch {
  ExpressionPtr test;
  Body body;
};
struct If {
  std::vector<Branch> branches;
};
struct For {
  Target target;
  ExpressionPtr items, filter;
  Body body, otherwise;
};
struct Assignment {
  Target target;
  ExpressionPtr value;
};
struct BlockAssignment {
  Target target;
  ExpressionPtr filter;
  Body body;
};
struct Macro {
  std::shared_ptr<const MacroDefinition> definition;
};
struct FilterBlock {
  ExpressionPtr filter;
  Body body;
};
/// HF's mark around the assistant's turns; only used for training data.
struct Generation {
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  std::size_t line;
  std::variant<Text, Print, If, For, Assignment, BlockAssignment, Macro, FilterBlock, Generation, Break, Continue> node;
};

}  // namespace tulle::jinja
