// SPDX-License-Identifier: Apache-2.0
/// \file The variables of one rendering, and the objects with its lifetime (L2, text).
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/jinja/loop.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The mutable object that `namespace()` makes; owned by the rendering.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
};

/// The variables of a template, loop, macro or block; other names are looked up in the parent.
class Scope {
 public:
  explicit Scope(const Scope* parent) : parent_(parent) {}

  void set(std::string_view name, Value value) {
    for (auto& [key, current] : variables_) {
      if (key == name) {
        current = std::move(value);
        return;
      }
    }
    variables_.emplace_back(name, std::move(value));
  }

  /// The variable here or in a parent; null where there is none.
  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
      for (const auto& [key, value] : scope->variables_) {
        if (key == name) return &value;
      }
    }
    return nullptr;
  }

  void clear() { variables_.clear(); }

 private:
  const Scope* parent_;
  std::vector<std::pair<std::string, Value>> variables_;
};

/// Owns scopes, namespaces and loops until the rendering ends: values, closures and scopes may refer to each other in
/// circles. Errors: capacity when the budget has no room for more.
class Arena {
 public:
  explicit Arena(Budget& budget) : budget_(budget) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Scope& scope(const Scope* parent) { return add(scopes_, parent); }
  Namespace& name_space() { return add(namespaces_); }
  Loop& loop() { return add(loops_); }

 private:
  template <class Item, class... Parts>
  Item& add(std::deque<Item>& items, const Parts&... parts) {
    budget_.allocate(2 * sizeof(Item));
    return items.emplace_back(parts...);
  }

  Budget& budget_;
  std::deque<Scope> scopes_;
  std::deque<Namespace> namespaces_;
  std::deque<Loop> loops_;
};

}  // namespace tulle::jinja
