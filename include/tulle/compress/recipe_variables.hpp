// SPDX-License-Identifier: Apache-2.0
/// \file The variables of a recipe, put into its values (L5).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/recipe_expression.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/near_names.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/yaml/yaml_node.hpp>

namespace tulle::detail {

/// Named values of a recipe (`args:`). A value that is "$name" or "<name>" becomes the variable's value, of any kind;
/// every eval(...) in a text becomes the number that it gives, and a text that is a number then is one. So do the
/// values of variables themselves, in any order.
class RecipeVariables {
 public:
  explicit RecipeVariables(std::string_view where) : where_(where) {}

  /// A name that is already there keeps its value.
  void add(const std::string& name, const YamlNode& value) { values_.try_emplace(name, Variable{value}); }

  /// Adds the names of all variables that some value referred to.
  void add_used(std::set<std::string>& names) const {
    for (const auto& [name, variable] : values_) {
      if (variable.is_used) names.insert(name);
    }
  }

  /// Replaces what `node` refers to, in all of its values.
  /// Errors: not_found for an unknown name, malformed for a wrong expression or variables that need each other, with
  /// the line; capacity.
  void substitute(YamlNode& node) {
    for (YamlNode& item : node.items) substitute(item);
    if (!node.is_scalar()) return;
    if (const std::string_view name = reference(node.text); !name.empty() && (!node.is_quoted || contains(name))) {
      const std::size_t line = node.line;
      YamlNode value = value_of(name, line);
      copied_ += size_of(value);
      if (copied_ > most_copied) {
        fail_at(ErrorCode::capacity, where_, line, "variables with more than ", most_copied, " values");
      }
      node = std::move(value);
      node.line = line;
      return;
    }
    evaluate(node);
  }

 private:
  static constexpr std::size_t most_copied = 100000;

  struct Variable {
    YamlNode value;
    bool is_used = false, is_open = false, is_done = false;
  };

  bool contains(std::string_view name) const { return values_.contains(std::string(name)); }

  static std::size_t size_of(const YamlNode& node) {
    std::size_t size = 1;
    for (const YamlNode& item : node.items) size += size_of(item);
    return size;
  }

  /// The name in "$name" or "<name>"; empty for any other text.
  static std::string_view reference(std::string_view text) {
    if (text.starts_with('$')) {
      text.remove_prefix(1);
    } else if (text.starts_with('<') && text.ends_with('>')) {
      text = text.substr(1, text.size() - 2);
    } else {
      return {};
    }
    if (text.empty() || !begins_name(text.front())) return {};
    for (const char byte : text) {
      if (!continues_name(byte)) return {};
    }
    return text;
  }

  const YamlNode& value_of(std::string_view name, std::size_t line) {
    const auto found = values_.find(std::string(name));
    if (found == values_.end()) fail_unknown(name, line);
    Variable& variable = found->second;
    variable.is_used = true;
    if (variable.is_open) {
      fail_at(ErrorCode::malformed, where_, line, "the variable ", quoted_name(name), " needs its own value");
    }
    if (!variable.is_done) {
      if (++depth_ > deepest) fail_at(ErrorCode::malformed, where_, line, "a chain of more than 64 variables");
      variable.is_open = true;
      substitute(variable.value);
      variable.is_open = false;
      variable.is_done = true;
      --depth_;
    }
    return variable.value;
  }

  [[noreturn]] void fail_unknown(std::string_view name, std::size_t line) const {
    std::vector<std::string_view> known;
    for (const auto& [each, value] : values_) known.push_back(each);
    const std::string near = near_names(name, known);
    fail_at(ErrorCode::not_found, where_, line, "no variable ", quoted_name(name),
            near.empty() ? "; variables are given under args" : "; did you mean " + near + "?");
  }

  void evaluate(YamlNode& node) {
    constexpr std::string_view call = "eval(";
    std::size_t at = node.text.find(call);
    if (at == std::string::npos) return;
    const auto lookup = [&](std::string_view name) {
      const auto number = value_of(name, node.line).number();
      if (number) return *number;
      fail_at(ErrorCode::malformed, where_, node.line, "the variable ", quoted_name(name), " is not a number");
    };
    std::string text;
    std::size_t from = 0;
    for (; at != std::string::npos; at = node.text.find(call, from)) {
      const std::string_view rest = std::string_view(node.text).substr(at + call.size());
      RecipeExpression expression(rest, where_, node.line, lookup);
      text += node.text.substr(from, at - from) + number_text(expression.evaluate());
      from = at + call.size() + expression.length();
    }
    node.text = text + node.text.substr(from);
    node.is_quoted = false;
  }

  static constexpr int deepest = 64;
  std::string_view where_;
  std::map<std::string, Variable> values_;
  std::size_t copied_ = 0;
  int depth_ = 0;
};

}  // namespace tulle::detail
