// SPDX-License-Identifier: Apache-2.0
/// \file Where the hub and its cache are, from the variables that the hub's own tools read (L4).
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <tulle/core/environment.hpp>
#include <tulle/core/error.hpp>

namespace tulle {

/// The names and defaults are those of the Python package huggingface_hub (its constants.py).
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< without a slash at its end
  std::string token;                                ///< sent to the endpoint alone; empty: none
  std::string cache;                                ///< the folder that holds models--org--name
  bool offline = false;                             ///< only what the cache holds
  std::chrono::seconds connect_time{10};            ///< to reach a server
  std::chrono::seconds stall_time{10};              ///< in which a server must send something

  /// HF_ENDPOINT; HF_TOKEN, or the file that `hf auth login` writes (HF_TOKEN_PATH, HF_HOME/token); HF_HUB_CACHE, or
  /// HF_HOME/hub; HF_HUB_OFFLINE; HF_HUB_ETAG_TIMEOUT and HF_HUB_DOWNLOAD_TIMEOUT, in seconds.
  /// Errors: invalid_argument for a token that is no word, or where no variable says where the cache is.
  static HubSettings from_environment();
};

namespace detail {

/// "1", "on", "yes" and "true" in any case.
inline bool is_environment_true(const char* name) {
  std::string value = environment(name);
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return value == "1" || value == "on" || value == "yes" || value == "true";
}

inline std::chrono::seconds environment_seconds(const char* name, std::chrono::seconds fallback) {
  const std::string value = environment(name);
  int seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  return error == std::errc() && end == value.data() + value.size() && seconds > 0 ? std::chrono::seconds(seconds)
                                                                                   : fallback;
}

/// Without the white space around it: a secret that was read from a file ends with a line end.
inline std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  return begin == text.npos ? "" : std::string(text.substr(begin, text.find_last_not_of(space) + 1 - begin));
}

/// The first word of a file; "" where it cannot be read.
inline std::string first_word(const std::filesystem::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

}  // namespace detail

inline HubSettings HubSettings::from_environment() {
  HubSettings settings;
  if (std::string endpoint = environment("HF_ENDPOINT"); !endpoint.empty()) {
    while (endpoint.ends_with('/')) endpoint.pop_back();
    settings.endpoint = endpoint;
  }
  std::filesystem::path home = environment_path("HF_HOME");
  if (home.empty()) {
    const std::filesystem::path caches = user_cache_folder();
    if (!caches.empty()) home = caches / "huggingface";
  }
  std::filesystem::path cache = environment_path("HF_HUB_CACHE");
  if (cache.empty()) cache = environment_path("HUGGINGFACE_HUB_CACHE");
  if (cache.empty() && !home.empty()) cache = home / "hub";
  if (cache.empty()) {
    fail(ErrorCode::invalid_argument, "no folder for models of the hub: set HF_HOME, HF_HUB_CACHE or HOME");
  }
  settings.cache = cache.string();
  settings.offline =
      detail::is_environment_true("HF_HUB_OFFLINE") || detail::is_environment_true("TRANSFORMERS_OFFLINE");
  settings.connect_time = detail::environment_seconds("HF_HUB_ETAG_TIMEOUT", settings.connect_time);
  settings.stall_time = detail::environment_seconds("HF_HUB_DOWNLOAD_TIMEOUT", settings.stall_time);
  settings.token = detail::trimmed(environment("HF_TOKEN"));
  if (settings.token.empty()) settings.token = detail::trimmed(environment("HUGGING_FACE_HUB_TOKEN"));
  if (settings.token.empty() && !detail::is_environment_true("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
    std::filesystem::path file = environment_path("HF_TOKEN_PATH");
    if (file.empty() && !home.empty()) file = home / "token";
    settings.token = detail::first_word(file);
  }
  const auto is_odd = [](char c) { return c <= ' ' || c > '~'; };
  if (std::any_of(settings.token.begin(), settings.token.end(), is_odd)) {
    fail(ErrorCode::invalid_argument, "the token of the hub (HF_TOKEN) holds a space or a character that is not ASCII");
  }
  return settings;
}

}  // namespace tulle
