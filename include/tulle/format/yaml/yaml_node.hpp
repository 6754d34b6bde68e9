// SPDX-License-Identifier: Apache-2.0
/// \file A YAML text as a tree that knows its lines (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/parse_double.hpp>

namespace tulle {

/// A value of a YAML document. A scalar keeps its text; what it means depends on who reads it.
struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  std::string text;            ///< of a scalar
  bool is_quoted = false;      ///< a scalar that is text, whatever it looks like
  std::string tag;             ///< "!Name" as written, or empty
  std::size_t line = 0;        ///< where the value begins, from 1
  std::vector<YamlNode> keys;  ///< of a mapping, scalars, one for each item
  std::vector<YamlNode> items;

  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_sequence() const noexcept { return kind == Kind::sequence; }
  bool is_mapping() const noexcept { return kind == Kind::mapping; }
  bool is_null() const noexcept { return kind == Kind::null; }

  /// The value of a mapping's key, or null pointer.
  const YamlNode* find(std::string_view key) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].text == key) return &items[i];
    }
    return nullptr;
  }

  /// A scalar that YAML 1.1 or 1.2 reads as a truth value.
  std::optional<bool> boolean() const {
    if (kind != Kind::scalar || is_quoted) return std::nullopt;
    for (const std::string_view each : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
      if (text == each) return true;
    }
    for (const std::string_view each : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
      if (text == each) return false;
    }
    return std::nullopt;
  }

  /// A scalar that is a finite decimal number, quoted or not (Python's tools convert both).
  std::optional<double> number() const {
    if (kind != Kind::scalar) return std::nullopt;
    return number_of(text);
  }

  static std::optional<double> number_of(const std::string& text) {
    constexpr std::string_view marks = "0123456789+-.eE";
    constexpr std::size_t longest = 64;
    const bool is_plain =
        !text.empty() && text.size() <= longest &&
        std::all_of(text.begin(), text.end(), [&](char byte) { return marks.find(byte) != std::string_view::npos; });
    if (!is_plain) return std::nullopt;
    const std::optional<double> value = parse_double(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
  }

  /// What it is, for messages: "a list".
  std::string_view kind_name() const noexcept {
    switch (kind) {
      case Kind::null: return "nothing";
      case Kind::scalar: return "a single value";
      case Kind::sequence: return "a list";
      case Kind::mapping: return "a mapping";
    }
    return "";
  }
};

namespace detail {

/// Throws an error at a line of a file: "recipe.yaml, line 4: ...".
template <class... Parts>
[[noreturn]] void fail_at(ErrorCode code, std::string_view where, std::size_t line, const Parts&... parts) {
  fail(code, where, ", line ", line, ": ", parts...);
}

}  // namespace detail

}  // namespace tulle
