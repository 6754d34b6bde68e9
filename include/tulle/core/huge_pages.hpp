// SPDX-License-Identifier: Apache-2.0
/// \file Huge pages that many arrays share (L0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include <tulle/core/checked.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tulle {

/// Memory in pages of 2 MiB, where Linux offers them: a core reads it up to half again as fast as in pages of 4 KiB.
///
/// Most matrices of a small model are no such page long, so that arrays lie side by side in regions of 16 MiB. A region is given
/// back with the last of its arrays; until then the place of those that went is not used again. So it serves arrays that come and
/// go together, as the weights of a model do. Thread-safe.
class HugePages {
 public:
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)  // which looks for reads behind an array
  static constexpr bool are_offered = true;
#else
  static constexpr bool are_offered = false;
#endif
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;
  static constexpr std::size_t region_bytes = 8 * page_bytes;
  static constexpr std::size_t max_bytes = region_bytes / 2;  ///< of one array; a larger one has pages of its own

  /// Asks for huge pages where a block of memory has whole ones.
  static void advise([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    (void)::madvise(data, bytes / page_bytes * page_bytes, MADV_HUGEPAGE);
#endif
  }

  /// At most `max_bytes`, at a multiple of 64. Null when the system refuses.
  static void* allocate(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (last_ == nullptr || last_->used + bytes > region_bytes) {
      void* fresh = std::aligned_alloc(region_bytes, region_bytes);
      if (fresh == nullptr) return nullptr;
      advise(fresh, region_bytes);
      last_ = new (fresh) Region;
    }
    void* array = reinterpret_cast<std::byte*>(last_) + last_->used;
    last_->used += round_up(bytes, line_bytes);
    ++last_->arrays;
    return array;
  }

  static void release(void* array) noexcept {
    const std::lock_guard lock(mutex_);
    auto* region = reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(array) / region_bytes * region_bytes);
    if (--region->arrays > 0) return;
    if (region == last_) last_ = nullptr;
    std::free(region);
  }

 private:
  static constexpr std::size_t line_bytes = 64;

  /// What a region begins with. Regions begin at multiples of their size.
  struct Region {
    std::size_t used = line_bytes, arrays = 0;
  };

  static inline std::mutex mutex_;
  static inline Region* last_ = nullptr;  // the one that is being filled
};

}  // namespace tulle
