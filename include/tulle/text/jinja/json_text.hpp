// SPDX-License-Identifier: Apache-2.0
/// \file Values as JSON, written as Python's json.dumps writes it (L2, text).
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <tulle/core/heap_sort.hpp>
#include <tulle/text/jinja/printing.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The parameters of json.dumps that the `tojson` filter of HF transformers passes on, with its defaults.
struct JsonStyle {
  bool lines = false;  ///< one item a line, after `indent` for each level
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ascii = false;   ///< everything else as \uXXXX
  bool sorted = false;  ///< by key
};

/// Writes one value. Errors: invalid_argument for values without a form in JSON (undefined, functions, namespaces).
class JsonWriter {
 public:
  JsonWriter(Budget& budget, JsonStyle style) : budget_(budget), style_(std::move(style)) {}

  std::string write(const Value& value) {
    out_.clear();
    append_value(value, 1);
    return std::move(out_);
  }

 private:
  void put(std::string_view text) { append(budget_, out_, text); }

  void append_value(const Value& value, std::size_t level) {
    budget_.spend(1);
    switch (value.kind()) {
      case Kind::none: return put("null");
      case Kind::boolean: return put(value.boolean() ? "true" : "false");
      case Kind::integer: return put(std::to_string(value.integer()));
      case Kind::real: return put(real_json(value.real()));
      case Kind::text: return append_string(value.text());
      case Kind::sequence:
        if (value.is(Flavor::generator)) break;
        return append_array(value.items(), level);
      case Kind::mapping: return append_object(value.entries(), level);
      default: break;
    }
    fail(ErrorCode::invalid_argument, "a value of type ", value.type_name(), " cannot be written as JSON");
  }

  static std::string real_json(double real) {
    if (std::isnan(real)) return "NaN";
    if (std::isinf(real)) return real < 0 ? "-Infinity" : "Infinity";
    return real_text(real);
  }

  void append_array(const Items& items, std::size_t level) {
    if (items.empty()) return put("[]");
    put("[");
    for (std::size_t i = 0; i < items.size(); ++i) {
      separate(i, level);
      append_value(items[i], level + 1);
    }
    new_line(level - 1);
    put("]");
  }

  void append_object(const Entries& entries, std::size_t level) {
    if (entries.empty()) return put("{}");
    std::vector<std::pair<std::string, const Value*>> members;
    for (const auto& [key, item] : entries) {
      budget_.allocate(sizeof(members.front()));
      members.emplace_back(key_text(key), &item);
    }
    if (style_.sorted) {
      heap_sort(members, [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    put("{");
    for (std::size_t i = 0; i < members.size(); ++i) {
      separate(i, level);
      append_string(members[i].first);
      put(style_.key_separator);
      append_value(*members[i].second, level + 1);
    }
    new_line(level - 1);
    put("}");
  }

  static std::string key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::text: return key.text();
      case Kind::none: return "null";
      case Kind::boolean: return key.boolean() ? "true" : "false";
      case Kind::integer: return std::to_string(key.integer());
      case Kind::real: return real_json(key.real());
      default: fail(ErrorCode::invalid_argument, "a key of type ", key.type_name(), " cannot be written as JSON");
    }
  }

  void separate(std::size_t item, std::size_t level) {
    if (item != 0) put(style_.item_separator);
    new_line(level);
  }

  void new_line(std::size_t level) {
    if (!style_.lines) return;
    put("\n");
    for (std::size_t i = 0; i < level; ++i) put(style_.indent);
  }

  void append_string(std::string_view text) {
    put("\"");
    std::string piece;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = code_point_size(text, at);
      const char32_t point = decode_code_point(text, at);
      switch (point) {
        case '"': piece += "\\\""; break;
        case '\\': piece += "\\\\"; break;
        case '\n': piece += "\\n"; break;
        case '\r': piece += "\\r"; break;
        case '\t': piece += "\\t"; break;
        case '\b': piece += "\\b"; break;
        case '\f': piece += "\\f"; break;
        default:
          if (point < 0x20 || (style_.ascii && point > 0x7E)) {
            append_escape(piece, point);
          } else {
            piece += text.substr(at, size);
          }
      }
      at += size;
      put(piece);
      piece.clear();
    }
    put("\"");
  }

  /// \uXXXX, as a surrogate pair beyond the basic plane.
  static void append_escape(std::string& out, char32_t point) {
    if (point >= 0x10000) {
      append_escape(out, 0xD800 + ((point - 0x10000) >> 10));
      point = 0xDC00 + ((point - 0x10000) & 0x3FF);
    }
    out += "\\u";
    detail::append_hex(out, point, 4);
  }

  Budget& budget_;
  JsonStyle style_;
  std::string out_;
};

}  // namespace tulle::jinja
