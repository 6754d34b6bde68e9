// SPDX-License-Identifier: Apache-2.0
/// \file Texts split, joined and replaced, as Python does (L2, text).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/printing.hpp>
#include <tulle/text/jinja/strings.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// Appends a new item to a list under construction; the charge covers the item, its string and their bookkeeping.
inline void push(Budget& budget, Items& items, std::string_view text) {
  budget.allocate(96 + text.size());
  items.emplace_back(text);
}

/// Every item of a sequence as one text. Errors: invalid_argument where `strict` and an item is no string.
inline std::string join(Budget& budget, std::string_view separator, const Items& items, bool strict) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (strict && !items[i].is(Kind::text)) {
      fail(ErrorCode::invalid_argument, "join() wants strings, item ", i, " is of type ", items[i].type_name());
    }
    if (i != 0) append(budget, out, separator);
    append_text(budget, out, items[i]);
  }
  return out;
}

/// Python's text.replace(from, to, count); an empty `from` stands between all code points. A negative count is no
/// limit.
inline std::string replace(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
                           std::int64_t count) {
  budget.spend_search(text.size(), from.size());
  std::string out;
  std::size_t at = 0;
  for (std::size_t begin = 0; count != 0; --count) {
    const std::size_t found = from.empty() ? begin : text.find(from, begin);
    if (found == std::string_view::npos || found > text.size()) break;
    append(budget, out, text.substr(at, found - at));
    append(budget, out, to);
    at = found + from.size();
    begin = from.empty() ? (at < text.size() ? at + code_point_size(text, at) : at + 1) : at;
  }
  append(budget, out, text.substr(std::min(at, text.size())));
  return out;
}

/// Python's split() and rsplit(): between runs of white space, where `separator` is null.
inline Value split(Budget& budget, std::string_view text, const std::string* separator, std::int64_t max_splits,
                   bool right) {
  budget.spend_search(text.size(), separator == nullptr ? 1 : separator->size());
  Items parts;
  const auto is_edge = [](char32_t point) { return !is_space(point); };
  if (separator == nullptr) text = strip(text, right ? Side::right : Side::left);
  for (; max_splits != 0 && !(separator == nullptr && text.empty()); --max_splits) {
    std::string_view left, rest;
    if (separator == nullptr) {
      const std::string_view tail = right ? strip_if(text, Side::right, is_edge) : strip_if(text, Side::left, is_edge);
      if (tail.empty()) break;
      left = right ? strip(tail, Side::right) : text.substr(0, text.size() - tail.size());
      rest = right ? text.substr(tail.size()) : strip(tail, Side::left);
    } else {
      const std::size_t found = right ? text.rfind(*separator) : text.find(*separator);
      if (found == std::string_view::npos) break;
      left = text.substr(0, found);
      rest = text.substr(found + separator->size());
    }
    push(budget, parts, right ? rest : left);
    text = right ? left : rest;
  }
  if (separator != nullptr || !text.empty()) push(budget, parts, text);
  if (right) std::reverse(parts.begin(), parts.end());
  return Value::sequence(std::move(parts));
}

}  // namespace tulle::jinja
