// SPDX-License-Identifier: Apache-2.0
/// \file The `loop` variable of a `for` (L2, text).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The `loop` variable; owned by the rendering, valid after its loop has ended.
struct Loop {
  Value sequence;
  std::size_t index = 0;
  std::int64_t depth = 1;
  Items last_changed;  // arguments of the last loop.changed(...)
  bool changed_before = false;
  Function recurse;  // empty unless the loop is recursive
};

namespace detail {

inline Value loop_changed(Budget& budget, Loop& loop, const Arguments& arguments) {
  bool same = loop.changed_before && loop.last_changed.size() == arguments.positional.size();
  for (std::size_t i = 0; same && i < loop.last_changed.size(); ++i) {
    same = equal(budget, loop.last_changed[i], arguments.positional[i]);
  }
  loop.last_changed = arguments.positional;
  loop.changed_before = true;
  return !same;
}

}  // namespace detail

/// `loop.name`. Lifetime: bound methods refer to the loop.
inline Value loop_attribute(Loop& loop, std::string_view name) {
  const Items& items = loop.sequence.items();
  const auto index = static_cast<std::int64_t>(loop.index), count = static_cast<std::int64_t>(items.size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return count - index;
  if (name == "revindex0") return count - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == count;
  if (name == "length") return count;
  if (name == "depth") return loop.depth;
  if (name == "depth0") return loop.depth - 1;
  if (name == "previtem") return index > 0 ? items[loop.index - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") return index + 1 < count ? items[loop.index + 1] : Value::undefined("there is no next item");
  if (name == "changed") {
    return Value::callable("changed", [&loop](Budget& budget, const Arguments& arguments) {
      return detail::loop_changed(budget, loop, arguments);
    });
  }
  if (name == "cycle") {
    return Value::callable("cycle", [&loop](Budget&, const Arguments& arguments) {
      if (arguments.positional.empty()) fail(ErrorCode::invalid_argument, "loop.cycle() wants at least one value");
      return arguments.positional[loop.index % arguments.positional.size()];
    });
  }
  return Value::undefined("'loop' has no attribute '", name, "'");
}

}  // namespace tulle::jinja
