// SPDX-License-Identifier: Apache-2.0
/// \file Huge pages that many arrays share (L0).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include <tulle/core/checked.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tulle {

/// Memory in pages of 2 MiB, where Linux offers them. A core reads it up to 1.5 times as fast as in pages of 4 KiB.
///
/// Most matrices of a small model are shorter than one huge page, so arrays are placed next to each other in regions of
/// 256 MiB of addresses, whose pages the system provides when they are first touched. A page goes back to the system
/// with the last array that reaches into it, a region with the last of its arrays; until then the place of a freed array
/// is not reused. So it suits arrays of the same lifetime, such as the weights of a model. Thread-safe.
class HugePages {
 public:
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)  // which detects reads beyond an array
  static constexpr bool are_offered = true;
#else
  static constexpr bool are_offered = false;
#endif
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;
  static constexpr std::size_t region_bytes = 128 * page_bytes;
  static constexpr std::size_t max_bytes = region_bytes / 2;  ///< of one array; a larger one has its own pages

#if defined(__linux__)
  /// Requests huge pages for the part of a block that consists of whole ones.
  static void advise(void* data, std::size_t bytes) noexcept {
    (void)::madvise(data, bytes / page_bytes * page_bytes, MADV_HUGEPAGE);
  }

  /// Aligned to 64. Null when there are more than `max_bytes` or the system refuses.
  static void* allocate(std::size_t bytes) noexcept {
    if (bytes > max_bytes) return nullptr;
    const std::lock_guard lock(mutex_);
    if (last_ == nullptr || last_->used + bytes > region_bytes) {
      void* fresh = map_region();
      if (fresh == nullptr) return nullptr;
      last_ = new (fresh) Region;
    }
    std::byte* array = last_->begin() + last_->used;
    for (std::size_t page = last_->page_of(array); page <= last_->page_of(array + bytes - 1); ++page) {
      ++last_->arrays_of[page];
    }
    last_->used += round_up(bytes, line_bytes);
    ++last_->arrays;
    return array;
  }

  /// `bytes`: as it was allocated.
  static void release(void* array, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    auto* region = reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(array) / region_bytes * region_bytes);
    if (--region->arrays == 0) {
      if (region == last_) last_ = nullptr;
      (void)::munmap(region, region_bytes);
      return;
    }
    const std::byte* end = static_cast<std::byte*>(array) + bytes;
    for (std::size_t page = region->page_of(array); page <= region->page_of(end - 1); ++page) {
      if (--region->arrays_of[page] > 0 || page == 0) continue;  // the first page has the header
      (void)::madvise(region->begin() + page * page_bytes, page_bytes, MADV_DONTNEED);
    }
  }

 private:
  static constexpr std::size_t line_bytes = 64;

  /// Header of a region. Regions begin at multiples of their size.
  struct alignas(line_bytes) Region {
    std::size_t used = sizeof(Region), arrays = 0;
    std::array<std::uint32_t, region_bytes / page_bytes> arrays_of{};  ///< that reach into each page

    std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this); }
    std::size_t page_of(const void* at) const noexcept {
      return static_cast<std::size_t>(static_cast<const std::byte*>(at) - reinterpret_cast<const std::byte*>(this)) /
             page_bytes;
    }
  };

  /// Addresses for a region, without memory behind them. Null when the system refuses.
  static void* map_region() noexcept {
    constexpr std::size_t bytes = 2 * region_bytes;  // of which one region begins at a multiple
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(mapped);
    const std::size_t before =
        round_up(reinterpret_cast<std::uintptr_t>(begin), region_bytes) - reinterpret_cast<std::uintptr_t>(begin);
    if (before > 0) (void)::munmap(begin, before);
    if (before < region_bytes) (void)::munmap(begin + before + region_bytes, region_bytes - before);
    advise(begin + before, region_bytes);
    return begin + before;
  }

  static inline std::mutex mutex_;
  static inline Region* last_ = nullptr;  // the region that is being filled
#else
  static void advise(void*, std::size_t) noexcept {}
  static void* allocate(std::size_t) noexcept { return nullptr; }
  static void release(void*, std::size_t) noexcept {}
#endif
};

}  // namespace tulle
