// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tulle::capi {

static_assert(TULLE_INVALID_ARGUMENT == static_cast<int>(ErrorCode::invalid_argument));
static_assert(TULLE_STATE == static_cast<int>(ErrorCode::state));
static_assert(TULLE_IO == static_cast<int>(ErrorCode::io));
static_assert(TULLE_MALFORMED == static_cast<int>(ErrorCode::malformed));
static_assert(TULLE_UNSUPPORTED == static_cast<int>(ErrorCode::unsupported));
static_assert(TULLE_NOT_FOUND == static_cast<int>(ErrorCode::not_found));
static_assert(TULLE_CAPACITY == static_cast<int>(ErrorCode::capacity));
static_assert(TULLE_OUT_OF_MEMORY == static_cast<int>(ErrorCode::memory));
static_assert(TULLE_CANCELLED == static_cast<int>(ErrorCode::cancelled));

namespace {

constexpr std::size_t header = offsetof(tulle_error, message);

}  // namespace

bool is_valid(const tulle_error* error) noexcept {
  return error == nullptr || error->struct_size > header;
}

std::int32_t report(tulle_error* error, std::int32_t status, std::string_view message) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  const std::size_t capacity = std::min<std::size_t>(error->struct_size, sizeof(tulle_error)) - header;
  std::size_t size = std::min(message.size(), capacity - 1);
  // A byte 10xxxxxx continues a code point: cut before its first byte, not inside.
  if (size < message.size()) {
    while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80) --size;
  }
  std::memcpy(error->message, message.data(), size);
  error->message[size] = '\0';
  return status;
}

}  // namespace tulle::capi
