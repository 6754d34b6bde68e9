// SPDX-License-Identifier: Apache-2.0
/// \file The one exception type of the library (L0).
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace tulle {

/// The kind of an error. The values are pinned: the C ABI returns them.
enum class ErrorCode : int {
  invalid_argument = 1,  ///< an invalid option, token or prompt
  state = 2,             ///< a call that is not allowed in the object's present state
  io = 10,               ///< an error of the file system
  malformed = 11,        ///< a file that breaks the rules of its format
  unsupported = 12,      ///< a valid file or option that this build cannot run
  not_found = 13,        ///< a missing file, tensor or name
  capacity = 20,         ///< longer than the context, the cache or a limit
  memory = 21,           ///< a failed allocation
  cancelled = 30,        ///< stopped by the caller
};

/// The name of a code as it is printed ("malformed").
constexpr std::string_view error_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::state: return "state";
    case ErrorCode::io: return "io";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::capacity: return "capacity";
    case ErrorCode::memory: return "memory";
    case ErrorCode::cancelled: return "cancelled";
  }
  return "unknown";
}

/// Thrown while loading, parsing and reading options; never from the token loop.
/// The message is one line: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

namespace detail {

/// Text or a number, in a form that a call only stores: what makes the message is compiled once, not for every call.
struct MessagePart {
  enum class Kind { text, integer, natural, real } kind = Kind::text;
  std::string_view text;
  union {
    long long integer = 0;
    unsigned long long natural;
    double real;
  };

  template <class Part>
  explicit MessagePart(const Part& part) noexcept {
    if constexpr (std::is_floating_point_v<Part>) {
      kind = Kind::real;
      real = static_cast<double>(part);
    } else if constexpr (std::is_integral_v<Part> && std::is_signed_v<Part>) {
      kind = Kind::integer;
      integer = part;
    } else if constexpr (std::is_integral_v<Part>) {
      kind = Kind::natural;
      natural = part;
    } else {
      text = part;
    }
  }

  std::string to_string() const {
    switch (kind) {
      case Kind::integer: return std::to_string(integer);
      case Kind::natural: return std::to_string(natural);
      case Kind::real: return std::to_string(real);
      default: return std::string(text);
    }
  }
};

[[noreturn, gnu::cold, gnu::noinline]] inline void fail_with(ErrorCode code, std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) message += part.to_string();
  throw Error(code, message);
}

}  // namespace detail

/// Throws `Error` with the parts (text and numbers) joined, so that a message can be written as a list of its pieces.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  detail::fail_with(code, {detail::MessagePart(parts)...});
}

}  // namespace tulle
