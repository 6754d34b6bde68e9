// SPDX-License-Identifier: Apache-2.0
/// \file The parts of a drafter's name (L4).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tulle {

namespace detail {

inline constexpr std::string_view copy_prefix = "self:";

/// "ngram+self:i4" is "ngram" for "self:i4"; of what has no drafter of its own the first is empty.
inline std::pair<std::string, std::string> split_stack(const std::string& name) {
  constexpr std::string_view ngram = "ngram+", copy = "+self:";
  if (name.starts_with(ngram)) return {"ngram", name.substr(ngram.size())};
  const std::size_t at = name.rfind(copy);
  if (at == std::string::npos) return {{}, name};
  return {name.substr(0, at), name.substr(at + 1)};
}

}  // namespace detail

/// The name of a drafter (`DraftOptions::drafter`) with `resolve(path)` in the place of the path that it holds, if any:
/// hf:org/name becomes a path of this machine by `resolve_model`. Errors: those of `resolve`.
template <class Resolve>
std::string with_local_path(const std::string& drafter, Resolve&& resolve) {
  const auto local = [&](const std::string& part) -> std::string {
    const bool is_path =
        !part.empty() && part != "ngram" && part != "prediction" && !part.starts_with(detail::copy_prefix);
    return is_path ? std::string(resolve(part)) : part;
  };
  const auto [first, second] = detail::split_stack(drafter);
  return first.empty() ? local(second) : local(first) + "+" + local(second);
}

}  // namespace tulle
