// SPDX-License-Identifier: Apache-2.0
/// \file Renders statements to text (L2, text).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/expression_evaluator.hpp>
#include <tulle/text/jinja/functions.hpp>
#include <tulle/text/jinja/macro_binding.hpp>
#include <tulle/text/jinja/scope.hpp>

namespace tulle::jinja {

/// One rendering of a template.
/// Errors:  those of `ExpressionEvaluator`, with the line in front; `RaisedError` as the template raised it.
/// Threads: one rendering, one thread; the tree is only read.
class Renderer {
 public:
  Renderer(const Limits& limits, const Clock& clock) : budget_(limits), globals_(arena_.scope(nullptr)) {
    define_functions(globals_, arena_, clock);
  }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  /// Defines a variable of the template.
  void set(std::string_view name, Value value) { globals_.set(name, std::move(value)); }

  std::string render(const Body& body) {
    try {
      Scope& scope = arena_.scope(&globals_);
      return captured(body, scope);
    } catch (const RaisedError&) {
      throw;
    } catch (const Error& error) {
      fail(error.code(), "chat template, line ", evaluator_.line(), ": ", error.what());
    }
  }

 private:
  enum class Flow { normal, breaks, continues };

  Flow run(const Body& body, Scope& scope) {
    for (const Statement& statement : body) {
      const Budget::Level level(budget_);
      budget_.spend(1);
      evaluator_.set_line(statement.line);
      const Flow flow = std::visit([&](const auto& node) { return run(node, scope); }, statement.node);
      if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
  }

  /// The text of a body; `flow` is set to how it ended.
  std::string captured(const Body& body, Scope& scope, Flow* flow = nullptr) {
    std::string text;
    std::string* const outer = std::exchange(out_, &text);
    const Flow end = run(body, scope);
    out_ = outer;
    if (flow != nullptr) *flow = end;
    return text;
  }

  Value evaluate(const Expression& expression, const Scope& scope) { return evaluator_.evaluate(expression, scope); }

  Flow run(const Text& text, Scope&) {
    append(budget_, *out_, text.text);
    return Flow::normal;
  }

  Flow run(const Print& print, Scope& scope) {
    append_text(budget_, *out_, evaluate(*print.value, scope));
    return Flow::normal;
  }

  Flow run(const If& statement, Scope& scope) {
    for (const Branch& branch : statement.branches) {
      if (!branch.test || evaluate(*branch.test, scope).truth()) return run(branch.body, scope);
    }
    return Flow::normal;
  }

  Flow run(const For& node, Scope& outer) {
    const Value source = iterate(budget_, evaluate(*node.items, outer));
    Scope& scope = arena_.scope(&outer);
    Scope& test = arena_.scope(&outer);
    Loop& loop = arena_.loop();
    // As in Jinja, the `if` of a loop is evaluated when its item is asked for: the body can change a namespace.
    loop.pull = [&, next = std::size_t{0}]() mutable {
      while (next < source.items().size()) {
        const Value& item = source.items()[next++];
        if (node.filter) {
          test.clear();
          assign(node.target, item, test);
          if (!evaluate(*node.filter, test).truth()) continue;
        }
        budget_.allocate(sizeof(Value));
        loop.items.push_back(item);
        return true;
      }
      return false;
    };
    bool is_empty = true;  // as in Jinja: no iteration came to the end of the body
    for (loop.index = 0; loop.has(loop.index); ++loop.index) {
      budget_.spend(1);
      scope.clear();
      scope.set("loop", &loop);
      assign(node.target, Value(loop.items[loop.index]), scope);
      const Flow flow = run(node.body, scope);
      if (flow == Flow::breaks) break;
      if (flow == Flow::normal) is_empty = false;
    }
    loop.pull = nullptr;  // it refers to this call
    return is_empty ? run(node.otherwise, arena_.scope(&outer)) : Flow::normal;
  }

  void assign(const Target& target, const Value& value, Scope& scope) {
    if (!target.unpacks) return assign(target.parts.front(), value, scope);
    const Value items = iterate(budget_, value);
    if (items.items().size() != target.parts.size()) {
      fail(ErrorCode::invalid_argument, "cannot unpack ", items.items().size(), " values into ", target.parts.size(),
           " names");
    }
    for (std::size_t i = 0; i < target.parts.size(); ++i) assign(target.parts[i], items.items()[i], scope);
  }

  void assign(const Target::Part& part, const Value& value, Scope& scope) {
    if (part.attribute.empty()) return scope.set(part.name, value);
    const Value* space = scope.find(part.name);
    if (space == nullptr || !space->is(Kind::name_space)) {
      fail(ErrorCode::invalid_argument, "'", part.name, "' is no namespace; its attribute cannot be set");
    }
    auto& attributes = space->name_space().attributes;
    for (auto& [name, current] : attributes) {
      if (name == part.attribute) {
        current = value;
        return;
      }
    }
    budget_.allocate(4 * sizeof(Value));
    attributes.emplace_back(part.attribute, value);
  }

  Flow run(const Assignment& assignment, Scope& scope) {
    assign(assignment.target, evaluate(*assignment.value, scope), scope);
    return Flow::normal;
  }

  Flow run(const BlockAssignment& block, Scope& scope) {
    Flow flow = Flow::normal;
    Value text = captured(block.body, arena_.scope(&scope), &flow);
    if (flow != Flow::normal) return flow;
    if (block.filter) text = evaluator_.evaluate_on(text, *block.filter, scope);
    assign(block.target, text, scope);
    return Flow::normal;
  }

  Flow run(const FilterBlock& block, Scope& scope) {
    Flow flow = Flow::normal;
    const Value text = captured(block.body, arena_.scope(&scope), &flow);
    if (flow == Flow::normal) append_text(budget_, *out_, evaluator_.evaluate_on(text, *block.filter, scope));
    return flow;
  }

  Flow run(const Generation& block, Scope& scope) { return run(block.body, arena_.scope(&scope)); }

  Flow run(const Macro& macro, Scope& scope) {
    scope.set(macro.definition->name, closure(*macro.definition, scope));
    return Flow::normal;
  }

  Flow run(const Break&, Scope&) { return Flow::breaks; }
  Flow run(const Continue&, Scope&) { return Flow::continues; }

  /// A macro with the scope it is defined in. It uses that scope's variables as they are at the time of the call.
  Value closure(const MacroDefinition& macro, Scope& scope) {
    budget_.allocate(sizeof(Callable) + sizeof(Value));
    return Value::callable(macro.name, [this, &macro, &scope](Budget&, const Arguments& arguments) -> Value {
      return call_macro(macro, arguments, scope);
    });
  }

  std::string call_macro(const MacroDefinition& macro, const Arguments& arguments, const Scope& outer) {
    Scope& scope = arena_.scope(&outer);
    bind_parameters(macro, arguments, scope, [&](const Expression& fallback) { return evaluate(fallback, scope); });
    return captured(macro.body, scope);
  }

  Budget budget_;
  Arena arena_{budget_};
  Scope& globals_;
  ExpressionEvaluator evaluator_{budget_};
  std::string* out_ = nullptr;
};

}  // namespace tulle::jinja
