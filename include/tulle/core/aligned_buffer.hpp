// SPDX-License-Identifier: Apache-2.0
/// \file Owning arrays at cache-line (or huge-page) alignment (L0).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/huge_pages.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// Tag: the system provides the pages only when they are first written (for a cache that may stay empty).
struct Uninitialized {};

/// Whether an array has its own pages, or may share huge pages with arrays of the same lifetime (`HugePages`).
enum class Pages { own, shared };

/// A fixed-size array of plain values, zero-initialised unless a tag says otherwise; movable, not copyable. Alignment
/// is 64 bytes. Arrays of 2 MiB and more are in huge pages where the system offers them. 64 readable bytes follow the
/// last element, so that a vector load of the tail stays inside. An array may also view memory of the caller (`over`).
/// Errors: memory.
template <class T>
  requires std::is_trivially_copyable_v<T>
class AlignedBuffer {
 public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t slack_bytes = 64;

  AlignedBuffer() = default;

  explicit AlignedBuffer(std::size_t size, Pages pages = Pages::own) : AlignedBuffer(size, Uninitialized{}, pages) {
    if (size_ != 0) std::memset(static_cast<void*>(data_), 0, size_bytes() + slack_bytes);
  }

  AlignedBuffer(std::size_t size, Uninitialized, Pages pages = Pages::own) : size_(size) {
    if (size == 0) return;
    const std::size_t bytes = checked_add(checked_multiply(size, sizeof(T), "a buffer"), slack_bytes, "a buffer");
    void* shared = HugePages::are_offered && pages == Pages::shared ? HugePages::allocate(bytes) : nullptr;
    shares_ = shared != nullptr;
    data_ = static_cast<T*>(shares_ ? shared : own_pages(bytes));
    if (data_ == nullptr)
      fail(ErrorCode::memory, "could not allocate ", bytes, " bytes; use a smaller model or context");
  }

  /// Views memory that the caller keeps for longer than the array, aligned and followed by slack as an array's own is.
  /// It is only read. (WebAssembly's modules have no such arrays.)
  static AlignedBuffer over(std::span<const T> values) noexcept
    requires(!is_web)
  {
    AlignedBuffer view;
    view.data_ = const_cast<T*>(values.data());
    view.size_ = values.size();
    view.is_lent_ = true;
    return view;
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        shares_(other.shares_),
        is_lent_(!is_web && other.is_lent_) {}

  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(shares_, other.shares_);
    if constexpr (!is_web) std::swap(is_lent_, other.is_lent_);
    return *this;
  }

  ~AlignedBuffer() {
    if (!is_web && is_lent_) return;
    if (HugePages::are_offered && shares_ && data_ != nullptr) {
      HugePages::release(data_, size_bytes() + slack_bytes);
    } else {
      std::free(data_);
    }
  }

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
  static void* own_pages(std::size_t bytes) noexcept {
    const std::size_t boundary =
        HugePages::are_offered && bytes >= HugePages::page_bytes ? HugePages::page_bytes : alignment;
    bytes = round_up(bytes, boundary);
    void* data = std::aligned_alloc(boundary, bytes);
    if (data != nullptr && boundary == HugePages::page_bytes) HugePages::advise(data, bytes);
    return data;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  bool shares_ = false, is_lent_ = false;
};

}  // namespace tulle
