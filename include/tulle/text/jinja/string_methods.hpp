// SPDX-License-Identifier: Apache-2.0
/// \file The methods of Python's str that templates call (L2, text).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/arguments.hpp>
#include <tulle/text/jinja/formatting.hpp>
#include <tulle/text/jinja/splitting.hpp>
#include <tulle/text/jinja/strings.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

namespace detail {

inline Value split_call(Budget& budget, std::string_view name, const std::string& self, const Arguments& arguments) {
  const Bound bound(name, arguments, {"sep", "maxsplit"});
  const bool blank = !bound.has(0) || bound.required(0).is(Kind::none);
  if (!blank && bound.text(0).empty())
    fail(ErrorCode::invalid_argument, name, "() wants a separator that is not empty");
  return split(budget, self, blank ? nullptr : &bound.text(0), bound.integer(1, -1), name == "rsplit");
}

inline Value strip_call(Budget& budget, std::string_view name, const std::string& self, const Arguments& arguments,
                        Side side) {
  const Bound bound(name, arguments, {"chars"});
  const bool blank = !bound.has(0) || bound.required(0).is(Kind::none);
  if (blank) return strip(self, side);
  budget.spend_search(self.size(), 16 * bound.text(0).size());
  return strip(self, side, bound.text(0));
}

/// startswith() and endswith(): one string or a tuple of strings.
inline bool has_affix(std::string_view name, const std::string& self, const Arguments& arguments) {
  const Bound bound(name, arguments, {"affix"});
  const auto matches = [&](const Value& affix) {
    if (!affix.is(Kind::text)) {
      fail(ErrorCode::invalid_argument, name, "() wants a string or a tuple of strings, not ", affix.type_name());
    }
    return name == "endswith" ? self.ends_with(affix.text()) : self.starts_with(affix.text());
  };
  const Value& affix = bound.required(0);
  if (!affix.is(Flavor::tuple)) return matches(affix);
  return std::any_of(affix.items().begin(), affix.items().end(), matches);
}

/// find() and rfind(): the code point index, or -1.
inline std::int64_t find_text(Budget& budget, std::string_view name, const std::string& self,
                              const Arguments& arguments) {
  const Bound bound(name, arguments, {"sub"});
  budget.spend_search(self.size(), bound.text(0).size());
  const std::size_t found = name[0] == 'r' ? self.rfind(bound.text(0)) : self.find(bound.text(0));
  if (found == std::string::npos) return -1;
  return static_cast<std::int64_t>(text_length(std::string_view(self).substr(0, found)));
}

inline std::int64_t count_text(Budget& budget, const std::string& self, const Arguments& arguments) {
  const std::string& sub = Bound("count", arguments, {"sub"}).text(0);
  if (sub.empty()) return static_cast<std::int64_t>(text_length(self)) + 1;
  budget.spend_search(self.size(), sub.size());
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = self.find(sub, at)) != std::string::npos; at += sub.size()) ++count;
  return count;
}

/// isdigit() and its like: all code points pass, and there is one.
template <class Test>
bool all_points(const std::string& self, Test test) {
  for (std::size_t at = 0; at < self.size(); at += code_point_size(self, at)) {
    if (!test(decode_code_point(self, at))) return false;
  }
  return !self.empty();
}

using StringMethod = Value (*)(Budget&, const std::string& self, const Arguments&);

struct NamedStringMethod {
  std::string_view name;
  StringMethod method;
};

using S = const std::string&;

inline constexpr NamedStringMethod string_methods[] = {
    {"capitalize", [](Budget&, S self, A) -> Value { return capitalize(self); }},
    {"count", [](Budget& budget, S self, A arguments) -> Value { return count_text(budget, self, arguments); }},
    {"endswith", [](Budget&, S self, A arguments) -> Value { return has_affix("endswith", self, arguments); }},
    {"find", [](Budget& budget, S self, A arguments) -> Value { return find_text(budget, "find", self, arguments); }},
    {"format", [](Budget& budget, S self, A arguments) -> Value { return format_braces(budget, self, arguments); }},
    {"index",
     [](Budget& budget, S self, A arguments) -> Value {
       const std::int64_t found = find_text(budget, "index", self, arguments);
       if (found < 0) fail(ErrorCode::invalid_argument, "index(): the text is not in the string");
       return found;
     }},
    {"isdigit", [](Budget&, S self, A) -> Value { return all_points(self, is_digit); }},
    {"join",
     [](Budget& budget, S self, A arguments) -> Value {
       const Bound bound("join", arguments, {"iterable"});
       if (!bound.required(0).is(Kind::sequence)) fail(ErrorCode::invalid_argument, "join() wants a list");
       return join(budget, self, bound.required(0).items(), true);
     }},
    {"lower", [](Budget&, S self, A) -> Value { return lower(self); }},
    {"lstrip",
     [](Budget& budget, S self, A arguments) { return strip_call(budget, "lstrip", self, arguments, Side::left); }},
    {"removeprefix",
     [](Budget&, S self, A arguments) -> Value {
       const std::string& prefix = Bound("removeprefix", arguments, {"prefix"}).text(0);
       return self.starts_with(prefix) ? self.substr(prefix.size()) : self;
     }},
    {"removesuffix",
     [](Budget&, S self, A arguments) -> Value {
       const std::string& suffix = Bound("removesuffix", arguments, {"suffix"}).text(0);
       return self.ends_with(suffix) ? self.substr(0, self.size() - suffix.size()) : self;
     }},
    {"replace",
     [](Budget& budget, S self, A arguments) -> Value {
       const Bound bound("replace", arguments, {"old", "new", "count"});
       return replace(budget, self, bound.text(0), bound.text(1), bound.integer(2, -1));
     }},
    {"rfind", [](Budget& budget, S self, A arguments) -> Value { return find_text(budget, "rfind", self, arguments); }},
    {"rsplit", [](Budget& budget, S self, A arguments) { return split_call(budget, "rsplit", self, arguments); }},
    {"rstrip",
     [](Budget& budget, S self, A arguments) { return strip_call(budget, "rstrip", self, arguments, Side::right); }},
    {"split", [](Budget& budget, S self, A arguments) { return split_call(budget, "split", self, arguments); }},
    {"splitlines",
     [](Budget& budget, S self, A arguments) {
       const Bound bound("splitlines", arguments, {"keepends"});
       Items lines;
       for_each_line(self, bound.truth(0, false), [&](std::string_view line) { push(budget, lines, line); });
       return Value::sequence(std::move(lines));
     }},
    {"startswith", [](Budget&, S self, A arguments) -> Value { return has_affix("startswith", self, arguments); }},
    {"strip",
     [](Budget& budget, S self, A arguments) { return strip_call(budget, "strip", self, arguments, Side::both); }},
    {"title", [](Budget&, S self, A) -> Value { return title(self); }},
    {"upper", [](Budget&, S self, A) -> Value { return upper(self); }},
};

}  // namespace detail

/// The method of that name, or null.
inline detail::StringMethod find_string_method(std::string_view name) {
  for (const auto& candidate : detail::string_methods) {
    if (candidate.name == name) return candidate.method;
  }
  return nullptr;
}

}  // namespace tulle::jinja
