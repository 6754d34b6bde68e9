// SPDX-License-Identifier: Apache-2.0
/// \file What every request has to pass: keys, origins, a body whose length is clear (L6).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <tulle/hub/hub_model.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/constant_time.hpp>
#include <tulle/serve/http_connections.hpp>
#include <tulle/serve/http_exchange.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

/// Answered without a key: whether the server lives, and whether its models are loaded.
inline constexpr std::array<std::string_view, 5> health_paths{"/health", "/ping", "/healthcheck", "/status",
                                                              "/v2/health/live"};
inline constexpr std::array<std::string_view, 2> ready_paths{"/ready", "/v2/health/ready"};
/// Pages that ask for the key, and what they show.
inline constexpr std::array<std::string_view, 3> page_paths{"/", "/docs", "/openapi.json"};

class HttpGuard {
 public:
  explicit HttpGuard(const ServerOptions& options) : options_(options) {}

  /// Before the body is read. False: the answer stands in `response`.
  bool admit(const httplib::Request& request, httplib::Response& response) const {
    CurrentConnection& connection = CurrentConnection::get();
    const bool has_length = request.has_header("Content-Length"), is_chunked = request.has_header("Transfer-Encoding");
    const bool takes_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    const std::string length = request.get_header_value("Content-Length");
    connection.closes = is_chunked || (has_length && length != "0");
    // What a proxy before this server may have understood otherwise (RFC 9110, 5.1; RFC 9112, 3.2 and 6.3).
    const auto has_name = [](const auto& header) { return is_token(header.first); };
    if (!std::all_of(request.headers.begin(), request.headers.end(), has_name)) {
      return refuse(request, response, ApiError(400, "the name of a header holds what no name may hold"));
    }
    const std::size_t hosts = request.get_header_value_count("Host");
    if (hosts > 1 || (hosts == 0 && request.version != "HTTP/1.0")) {
      return refuse(request, response, ApiError(400, "a request needs one Host header"));
    }
    const bool unclear = (has_length && is_chunked) || request.get_header_value_count("Content-Length") > 1 ||
                         request.get_header_value_count("Transfer-Encoding") > 1 ||
                         (has_length && !is_number(length)) ||
                         (is_chunked && lower_case(request.get_header_value("Transfer-Encoding")) != "chunked");
    if (unclear) return refuse(request, response, ApiError(400, "the length of the body is not clear"));
    if (takes_body && !has_length && !is_chunked) {
      return refuse(request, response, ApiError(411, "a body needs Content-Length or Transfer-Encoding: chunked"));
    }
    if (!takes_body && is_chunked)
      return refuse(request, response, ApiError(400, request.method + " takes no body in chunks"));
    if (takes_body && request.is_multipart_form_data()) {
      return refuse(request, response, ApiError(415, "the body must be JSON (Content-Type: application/json)"));
    }
    if (!takes_body && !connection.closes) connection.received();
    connection.bytes_left = max_body_bytes();
    allow_origin(request, response);
    if (request.method == "OPTIONS") {
      response.status = 204;
      return false;
    }
    if (is_foreign(request)) {
      return refuse(
          request, response,
          ApiError(403, "pages of this origin may not ask; start the server with --cors-origin and its name"));
    }
    if (!authorized(request)) {
      response.set_header("WWW-Authenticate", "Bearer");
      return refuse(request, response, ApiError(401, "the API key is missing or wrong", {}, "invalid_api_key"));
    }
    if (has_length && is_above(length, options_.max_body_bytes)) {
      return refuse(request, response, body_too_long(options_.max_body_bytes));
    }
    return true;
  }

  /// An answer that has no body yet: why there is none.
  void explain(const httplib::Request& request, httplib::Response& response,
               const std::map<std::string, std::set<std::string>>& methods) const {
    const auto route = methods.find(request.path);
    if (response.status == 404 && route != methods.end()) {
      std::string allowed;
      for (const std::string& method : route->second) allowed += (allowed.empty() ? "" : ", ") + method;
      response.set_header("Allow", allowed);
      return set_error(response, ApiError(405, request.path + " takes " + allowed), form_of(request));
    }
    if (response.status == 404) {
      return set_error(response, ApiError(404, "there is no " + request.path), form_of(request));
    }
    set_error(response, ApiError(response.status, httplib::status_message(response.status)), form_of(request));
  }

  void close_connections() noexcept { closes_connections_ = true; }

  /// The last header, when the answer is known.
  void finish(const httplib::Request& request, httplib::Response& response) const {
    if (!response.has_header("X-Request-Id")) (void)request_id(request, response);
    if (closes_connections_) CurrentConnection::get().closes = true;
    if (CurrentConnection::get().closes && !response.has_header("Connection")) {
      response.set_header("Connection", "close");
    }
  }

  /// That of the client, where it has an unsuspicious one; else a new one. The answer carries it.
  std::string request_id(const httplib::Request& request, httplib::Response& response) const {
    std::string id = request.get_header_value("X-Request-Id");
    const bool is_plain = !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
      return tulle::detail::is_ascii_alphanumeric(c) || c == '-' || c == '_';
    });
    if (!is_plain) id = new_id("req_");
    response.set_header("X-Request-Id", id);
    return id;
  }

 private:
  static bool is_token_character(char c) noexcept {  // RFC 9110, 5.6.2
    return tulle::detail::is_ascii_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string::npos;
  }
  static bool is_token(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
  }
  static bool is_number(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  /// Of digits.
  static bool is_above(std::string_view digits, std::size_t limit) noexcept {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error != std::errc() || number > limit;
  }
  static std::string lower_case(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    return text;
  }

  /// Of a body with the sizes of its chunks, where these are not very small.
  std::size_t max_body_bytes() const noexcept { return 2 * options_.max_body_bytes + http_head_bytes; }

  /// The form of errors of the API that a path belongs to.
  static ErrorForm form_of(const httplib::Request& request) {
    return request.path.starts_with("/v1/messages") ? anthropic_error_json : error_json;
  }

  static bool refuse(const httplib::Request& request, httplib::Response& response, const ApiError& error) {
    CurrentConnection::get().closes = true;
    set_error(response, error, form_of(request));
    return false;
  }

  bool authorized(const httplib::Request& request) const {
    const auto holds = [&](const auto& paths) {
      return std::find(paths.begin(), paths.end(), request.path) != paths.end();
    };
    if (options_.api_keys.empty() || holds(page_paths) || holds(health_paths) || holds(ready_paths)) return true;
    std::string key = request.get_header_value("X-Api-Key");  // Anthropic's
    const std::string bearer = request.get_header_value("Authorization");
    const std::string scheme = lower_case(bearer.substr(0, std::string_view("bearer ").size()));  // RFC 9110, 11.1
    if (scheme == "bearer ") key = bearer.substr(scheme.size());
    bool found = false;
    for (const std::string& each : options_.api_keys) found = equal_in_constant_time(key, each) || found;
    return found && !key.empty();
  }

  /// The entry of the list that allows an origin; null: none.
  const std::string* listed(const std::string& origin) const noexcept {
    const auto allows = [&](const std::string& each) { return each == "*" || each == origin; };
    const auto found = std::find_if(options_.cors_origins.begin(), options_.cors_origins.end(), allows);
    return found == options_.cors_origins.end() ? nullptr : &*found;
  }

  /// Whether a page of another origin asks a server without keys: a browser sends such a request, and only keeps the
  /// answer from the page.
  bool is_foreign(const httplib::Request& request) const {
    const std::string origin = request.get_header_value("Origin");
    if (origin.empty() || !options_.api_keys.empty() || listed(origin) != nullptr) return false;
    const std::string host = request.get_header_value("Host");
    return origin != "http://" + host && origin != "https://" + host;
  }

  void allow_origin(const httplib::Request& request, httplib::Response& response) const {
    const std::string origin = request.get_header_value("Origin");
    const std::string* entry = origin.empty() ? nullptr : listed(origin);
    if (entry == nullptr) return;
    response.set_header("Access-Control-Allow-Origin", *entry);
    response.set_header("Vary", "Origin");
    response.set_header("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    // Clients have headers of their own (x-stainless-os, anthropic-version): what the page wants to send is allowed.
    const std::string wanted = request.get_header_value("Access-Control-Request-Headers");
    const bool are_names = !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [](char c) {
      return is_token_character(c) || c == ',' || c == ' ';
    });
    response.set_header("Access-Control-Allow-Headers",
                        are_names ? wanted : "Authorization, Content-Type, X-Api-Key, X-Request-Id");
    response.set_header("Access-Control-Max-Age", "600");
  }

  const ServerOptions& options_;
  std::atomic<bool> closes_connections_ = false;
};

}  // namespace tulle::serve
