// SPDX-License-Identifier: Apache-2.0
/// \file The `loop` variable of a `for` (L2, text).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The `loop` variable; owned by the rendering, valid after its loop has ended.
struct Loop {
  Items items;  // visited, and those that the loop was asked to look ahead for
  std::size_t index = 0;
  std::function<bool()> pull;  // appends the next item; false at the end; empty once the loop has ended

  bool has(std::size_t wanted) {
    while (wanted >= items.size()) {
      if (!pull || !pull()) return false;
    }
    return true;
  }
  std::int64_t count() {
    while (pull && pull()) {
    }
    return static_cast<std::int64_t>(items.size());
  }
};

/// `loop.name`. Lifetime: bound methods refer to the loop. Errors: unsupported for a name that it does not have.
inline Value loop_attribute(Loop& loop, std::string_view name) {
  const auto index = static_cast<std::int64_t>(loop.index);
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return loop.count() - index;
  if (name == "revindex0") return loop.count() - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return !loop.has(loop.index + 1);
  if (name == "length") return loop.count();
  if (name == "previtem") return index > 0 ? loop.items[loop.index - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return loop.has(loop.index + 1) ? loop.items[loop.index + 1] : Value::undefined("there is no next item");
  if (name == "cycle") {
    return Value::callable("cycle", [&loop](Budget&, const Arguments& arguments) {
      if (arguments.positional.empty()) fail(ErrorCode::invalid_argument, "loop.cycle() wants at least one value");
      return arguments.positional[loop.index % arguments.positional.size()];
    });
  }
  fail(ErrorCode::unsupported, "'loop' has no attribute '", name, "'");
}

}  // namespace tulle::jinja
