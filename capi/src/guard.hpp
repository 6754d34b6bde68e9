// SPDX-License-Identifier: Apache-2.0
/// \file The boundary of the C ABI: every exported function runs its body here, and no exception leaves it.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <tulle/core/error.hpp>

#include "tulle.h"

namespace tulle::capi {

// Codes of the ABI alone; `fail` accepts them like the library's own.
inline constexpr ErrorCode invalid_handle{TULLE_INVALID_HANDLE};
inline constexpr ErrorCode busy{TULLE_BUSY};
inline constexpr ErrorCode buffer_too_small{TULLE_BUFFER_TOO_SMALL};

/// Whether a message can be written there. NULL is allowed: no message is wanted.
bool is_valid(const tulle_error* error) noexcept;

/// Writes status and message, cut where they do not fit; returns the status. Allocates nothing.
std::int32_t report(tulle_error* error, std::int32_t status, std::string_view message) noexcept;

/// Runs `body`, which returns a status, and turns an exception into a status and a message.
template <class Body>
std::int32_t guarded(tulle_error* error, Body&& body) noexcept {
  if (!is_valid(error)) return TULLE_INVALID_ARGUMENT;
  try {
    return report(error, body(), "");
  } catch (const Error& exception) {
    return report(error, static_cast<std::int32_t>(exception.code()), exception.what());
  } catch (const std::bad_alloc&) {
    return report(error, TULLE_OUT_OF_MEMORY, "the system has no more memory for this; free something or ask for less");
  } catch (const std::length_error&) {
    return report(error, TULLE_OUT_OF_MEMORY, "more memory was asked for than there can be; ask for less");
  } catch (const std::system_error& exception) {
    return report(error, TULLE_OUT_OF_MEMORY, exception.what());  // a thread or a lock that the system refused
  } catch (const std::exception& exception) {
    return report(error, TULLE_INTERNAL, exception.what());
  } catch (...) {
    return report(error, TULLE_INTERNAL, "something that is no exception was thrown");
  }
}

}  // namespace tulle::capi
