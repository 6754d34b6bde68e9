// SPDX-License-Identifier: Apache-2.0
/// \file Addresses: what a server is, and where a redirect leads (L4).
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/hub/hub_model.hpp>

namespace tulle::detail {

struct HubUrl {
  std::string origin;  ///< "https://huggingface.co", with a port where one is given
  std::string path;    ///< from the first '/' on, with the query

  bool is_https() const noexcept { return origin.starts_with("https:"); }
  std::string text() const { return origin + path; }
};

/// Nothing for anything but http:// and https:// with a host, no user name, and no spaces or control characters.
inline std::optional<HubUrl> parse_hub_url(std::string_view text) {
  const auto is_bad = [](char c) { return c <= ' ' || c > '~' || c == '\\'; };
  if (text.size() > 16384 || std::any_of(text.begin(), text.end(), is_bad)) return std::nullopt;
  text = text.substr(0, text.find('#'));
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find_first_of("/?", colon + 3), text.size());
  HubUrl url{std::string(text.substr(0, end)), std::string(text.substr(end))};
  for (char& c : url.origin) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string host = url.origin.substr(colon + 3);
  const std::string scheme = url.origin.substr(0, colon);
  if ((scheme != "http" && scheme != "https") || host.empty() || host.find('@') != std::string::npos)
    return std::nullopt;
  const std::string default_port = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(default_port) && host != default_port) {
    url.origin.resize(url.origin.size() - default_port.size());
  }
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
  return url;
}

/// Where the header Location of an answer from `url` leads: an address, or a path on the same server.
inline std::optional<HubUrl> redirected(const HubUrl& url, std::string_view location) {
  if (location.starts_with("//")) return parse_hub_url(url.origin.substr(0, url.origin.find(':') + 1).append(location));
  if (location.starts_with("/")) return parse_hub_url(url.origin + std::string(location));
  return parse_hub_url(location);
}

/// A path for an address: everything but letters, digits, "-._~" and those of `kept` as %XX.
inline std::string encode_hub_path(std::string_view text, std::string_view kept = "/") {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_ascii_alphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos ||
        kept.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
  return encoded;
}

}  // namespace tulle::detail
