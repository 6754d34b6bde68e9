// SPDX-License-Identifier: Apache-2.0
/// \file Reads the arguments of the C ABI and writes its results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/text/utf8.hpp>

#include "guard.hpp"

namespace tulle::capi {

/// Larger than any struct of this ABI: a greater struct_size was never initialised.
inline constexpr std::uint32_t largest_struct = 65536;

/// Errors: invalid_argument when the caller's struct is smaller than the first that was published.
inline void check_struct_size(std::uint32_t size, std::size_t first, std::string_view name) {
  if (size < first || size > largest_struct) {
    fail(ErrorCode::invalid_argument, name, ".struct_size is ", size, "; set it to sizeof(", name, ")");
  }
}

/// Fills in a struct whose size is that of the caller's header.
template <class Struct>
std::int32_t init_struct(Struct* target, std::uint32_t size, Struct defaults, std::string_view name) {
  if (target == nullptr) fail(ErrorCode::invalid_argument, "the ", name, " to fill in is NULL");
  check_struct_size(size, sizeof(Struct), name);
  std::memset(static_cast<void*>(target), 0, size);
  defaults.struct_size = size;
  std::memcpy(target, &defaults, sizeof(Struct));
  return TULLE_OK;
}

/// `defaults`, overwritten by as much as the caller's struct has. NULL is all defaults.
/// Errors: invalid_argument for a wrong struct_size, unsupported for fields that are unknown to this library.
template <class Struct>
Struct read_struct(const Struct* given, Struct defaults, std::string_view name) {
  if (given == nullptr) return defaults;
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  check_struct_size(size, sizeof(Struct), name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + sizeof(Struct), bytes + size, [](unsigned char byte) { return byte != 0; })) {
    fail(ErrorCode::unsupported, name, " has fields that this library does not know; use a newer libtulle");
  }
  std::memcpy(&defaults, given, sizeof(Struct));
  return defaults;
}

/// The struct_size of a struct to fill in. Errors: invalid_argument for NULL and a wrong size.
template <class Struct>
std::uint32_t output_size(const Struct* target, std::string_view name) {
  if (target == nullptr) fail(ErrorCode::invalid_argument, "the ", name, " to fill in is NULL");
  std::uint32_t size = 0;
  std::memcpy(&size, target, sizeof size);
  check_struct_size(size, sizeof(Struct), name);
  return size;
}

/// Fills in the part of a struct that the caller's header has; its struct_size stays. Errors: those of `output_size`.
template <class Struct>
void write_struct(Struct* target, Struct value, std::string_view name) {
  value.struct_size = output_size(target, name);
  std::memcpy(target, &value, sizeof(Struct));
}

/// Errors: invalid_argument for NULL with a count, and for more elements than memory can hold.
template <class Element>
std::span<const Element> read_array(const Element* data, std::size_t count, std::string_view name) {
  if (data == nullptr && count != 0) fail(ErrorCode::invalid_argument, name, " is NULL and its size is ", count);
  if (count > PTRDIFF_MAX / sizeof(Element))
    fail(ErrorCode::invalid_argument, name, " has the impossible size ", count);
  return {data, count};
}

/// Errors: those of `read_array`, and invalid_argument for text that is not UTF-8.
inline std::string_view read_text(const char* data, std::size_t size, std::string_view name) {
  const std::span<const char> bytes = read_array(data, size, name);
  const std::string_view text(bytes.data(), bytes.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    if (step.kind != Utf8Step::Kind::valid) fail(ErrorCode::invalid_argument, name, " is not UTF-8 at byte ", at);
    at += step.length;
  }
  return text;
}
inline std::string_view read_text(const tulle_string& text, std::string_view name) {
  return read_text(text.data, text.size, name);
}

/// Errors: invalid_argument for an unknown flag.
inline void check_flags(std::uint32_t flags, std::uint32_t known) {
  if ((flags & ~known) != 0) fail(ErrorCode::invalid_argument, "flags ", flags, " holds a bit that means nothing here");
}

/// Where sizes have 32 bits, a larger value becomes the largest size, which every limit refuses or cuts.
inline std::size_t size_of_u64(std::uint64_t value) noexcept {
  constexpr std::uint64_t largest = SIZE_MAX;
  return static_cast<std::size_t>(value < largest ? value : largest);
}

template <class Output>
void check_output(const Output* output, std::string_view name) {
  if (output == nullptr) fail(ErrorCode::invalid_argument, "the place for the ", name, " is NULL");
}

/// Writes `values` to the caller's buffer and their number to *size. Capacity 0 only gives the number.
/// Errors: invalid_argument for NULL; buffer_too_small, with the buffer unchanged.
template <class Element>
std::int32_t write_array(std::span<const Element> values, Element* buffer, std::size_t capacity, std::size_t* size) {
  check_output(size, "size");
  *size = values.size();
  if (capacity == 0) return TULLE_OK;
  check_output(buffer, "result");
  if (capacity < values.size()) {
    fail(buffer_too_small, "the buffer holds ", capacity, " and ", values.size(), " are needed");
  }
  if (!values.empty()) std::memcpy(buffer, values.data(), values.size_bytes());
  return TULLE_OK;
}

inline std::int32_t write_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* size) {
  return write_array(std::span(text), buffer, capacity, size);
}

}  // namespace tulle::capi
