// SPDX-License-Identifier: Apache-2.0
/// \file Variables of the environment, and the folder of caches that they name (L0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tulle {

/// "" where the variable is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The value of a variable that names a folder or file, "~" at its beginning replaced by the home.
inline std::filesystem::path environment_path(const char* name) {
  const std::string value = environment(name);
  if (value != "~" && !value.starts_with("~/")) return value;
  return std::filesystem::path(environment("HOME")) / value.substr(std::min<std::size_t>(value.size(), 2));
}

/// ${XDG_CACHE_HOME:-~/.cache}; "" where there is no home.
inline std::filesystem::path user_cache_folder() {
  const std::filesystem::path folder = environment_path("XDG_CACHE_HOME");
  if (!folder.empty() || environment("HOME").empty()) return folder;
  return environment_path("HOME") / ".cache";
}

}  // namespace tulle
