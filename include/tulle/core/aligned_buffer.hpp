// SPDX-License-Identifier: Apache-2.0
/// \file Owning arrays at cache-line (or huge-page) alignment (L0).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tulle {

/// Asks for memory whose pages the system hands out only when they are first written (a cache that may stay empty).
struct Uninitialized {};

/// A fixed-size array of plain values, zero-initialised unless asked otherwise; movable, not copyable.
/// Alignment is 64 bytes, or on Linux 2 MiB (with huge pages asked for) from 2 MiB upwards. 64 readable bytes follow the last
/// element, so that a vector load of the tail stays inside.
/// Errors: memory when the system refuses.
template <class T>
  requires std::is_trivially_copyable_v<T>
class AlignedBuffer {
 public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t slack_bytes = 64;

  AlignedBuffer() = default;

  explicit AlignedBuffer(std::size_t size) : AlignedBuffer(size, Uninitialized{}) {
    if (size_ != 0) std::memset(static_cast<void*>(data_), 0, size_bytes() + slack_bytes);
  }

  AlignedBuffer(std::size_t size, Uninitialized) : size_(size) {
    if (size == 0) return;
    std::size_t bytes = checked_add(checked_multiply(size, sizeof(T), "a buffer"), slack_bytes, "a buffer");
#if defined(__linux__)
    constexpr std::size_t huge = std::size_t{2} << 20;
    const std::size_t boundary = bytes >= huge ? huge : alignment;
#else
    constexpr std::size_t boundary = alignment;
#endif
    bytes = round_up(bytes, boundary);
    data_ = static_cast<T*>(std::aligned_alloc(boundary, bytes));
    if (data_ == nullptr) fail(ErrorCode::memory, "could not allocate ", bytes, " bytes; use a smaller model or context");
#if defined(__linux__)
    if (boundary == huge) (void)madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  ~AlignedBuffer() { std::free(data_); }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tulle
