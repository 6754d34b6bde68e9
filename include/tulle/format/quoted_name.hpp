// SPDX-License-Identifier: Apache-2.0
/// \file Names from files, sanitized for messages (L3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tulle::detail {

/// `name` between quotes. Anything but printable ASCII becomes '?' and long names are cut, so that a hostile file can
/// neither break the one line of a message nor put invalid UTF-8 into it.
inline std::string quoted_name(std::string_view name) {
  constexpr std::size_t longest = 120;
  std::string text = "\"";
  for (const char c : name.substr(0, longest)) text += (c >= ' ' && c <= '~') ? c : '?';
  text += name.size() > longest ? "...\"" : "\"";
  return text;
}

}  // namespace tulle::detail
