// SPDX-License-Identifier: Apache-2.0
/// \file Errors as an HTTP API reports them (L6).
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>

namespace tulle::serve {

/// An error with the HTTP status that a client gets.
class ApiError : public std::runtime_error {
 public:
  /// `param`: the field of the request that is wrong; empty: none. `code`: OpenAI's name of the error; empty: none.
  ApiError(int status, const std::string& message, std::string param = {}, std::string code = {})
      : std::runtime_error(message), status_(status), param_(std::move(param)), code_(std::move(code)) {}

  int status() const noexcept { return status_; }
  const std::string& param() const noexcept { return param_; }
  const std::string& code() const noexcept { return code_; }

 private:
  int status_;
  std::string param_, code_;
};

/// The status of an error of the library: what a client sent is a 4xx.
constexpr int http_status(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_found: return 404;
    case ErrorCode::memory:
    case ErrorCode::state:
    case ErrorCode::cancelled: return 503;
    case ErrorCode::io: return 500;
    default: return 400;
  }
}

/// The error that is being handled, whatever its type. To be called in a catch block.
inline ApiError current_api_error() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error;
  } catch (const Error& error) {
    const bool too_long = error.code() == ErrorCode::capacity;
    return ApiError(http_status(error.code()), error.what(), {}, too_long ? "context_length_exceeded" : "");
  } catch (const std::bad_alloc&) {
    return ApiError(503, "the server is out of memory; try again later or ask for less");
  } catch (const std::exception& error) {
    return ApiError(500, error.what());
  }
}

/// OpenAI's name of the kind of an error.
constexpr std::string_view error_type(int status) noexcept {
  switch (status) {
    case 401: return "authentication_error";
    case 429: return "rate_limit_error";
    case 503: return "service_unavailable_error";
    default: return status < 500 ? "invalid_request_error" : "server_error";
  }
}

/// OpenAI's error object.
inline Json error_json(const ApiError& error) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"error",
           {{"message", error.what()},
            {"type", error_type(error.status())},
            {"param", or_null(error.param())},
            {"code", or_null(error.code())}}}};
}

/// Anthropic's error object.
inline Json anthropic_error_json(const ApiError& error) {
  const auto type = [&]() -> std::string_view {
    switch (error.status()) {
      case 404: return "not_found_error";
      case 413: return "request_too_large";
      case 503: return "overloaded_error";
      case 500: return "api_error";
      default: return error_type(error.status());
    }
  }();
  return {{"type", "error"}, {"error", {{"type", type}, {"message", error.what()}}}};
}

}  // namespace tulle::serve
