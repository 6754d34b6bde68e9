// SPDX-License-Identifier: Apache-2.0
/// \file The table behind the handles of the C ABI. A handle is not an address but a number that is looked up, so that
/// a freed or invalid one is detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

namespace tulle::capi {

/// Bits of a handle, from the lowest: 2 of the kind of object, 14 of the slot, the rest counts the objects that the
/// slot has held. The count begins at 1, so no handle is null or near 0. Free slots are reused in order, so a freed
/// handle stays invalid for a long time. Threads: all members may be called at once. An object stays alive while a call
/// holds it.
template <class Object, unsigned Kind>
class HandleTable {
 public:
  /// Errors: capacity when all slots are taken, memory.
  std::uintptr_t add(std::shared_ptr<Object> object) {
    const std::unique_lock lock(mutex_);
    if (first_free_ == none) {
      if (slots_.size() == most) fail(ErrorCode::capacity, most, " handles of one kind are in use; free some");
      slots_.emplace_back();
      append_free(slots_.size() - 1);
    }
    const std::size_t index = first_free_;
    first_free_ = slots_[index].next_free;
    slots_[index].object = std::move(object);
    ++live_;
    return slots_[index].count << 16 | index << 2 | Kind;
  }

  /// nullptr for an invalid or freed handle.
  std::shared_ptr<Object> find(std::uintptr_t handle) const {
    const std::shared_lock lock(mutex_);
    const std::size_t index = index_of(handle);
    return index < slots_.size() ? slots_[index].object : nullptr;
  }

  /// Returns the object, to be destroyed outside of the lock; nullptr for an invalid handle.
  std::shared_ptr<Object> remove(std::uintptr_t handle) {
    const std::unique_lock lock(mutex_);
    const std::size_t index = index_of(handle);
    if (index >= slots_.size() || slots_[index].object == nullptr) return nullptr;
    append_free(index);
    slots_[index].count = slots_[index].count == largest_count ? 1 : slots_[index].count + 1;
    --live_;
    return std::exchange(slots_[index].object, nullptr);
  }

  std::size_t live() const {
    const std::shared_lock lock(mutex_);
    return live_;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 14;
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr std::uintptr_t largest_count = std::numeric_limits<std::uintptr_t>::max() >> 16;

  struct Slot {
    std::shared_ptr<Object> object;
    std::uintptr_t count = 1;
    std::size_t next_free = none;
  };

  /// The free slots are a list through the slots themselves: freeing a handle never allocates.
  void append_free(std::size_t index) noexcept {
    slots_[index].next_free = none;
    if (first_free_ == none) {
      first_free_ = index;
    } else {
      slots_[last_free_].next_free = index;
    }
    last_free_ = index;
  }

  std::size_t index_of(std::uintptr_t handle) const noexcept {
    const std::size_t index = handle >> 2 & (most - 1);
    const bool matches = (handle & 3) == Kind && index < slots_.size() && slots_[index].count == handle >> 16;
    return matches ? index : none;
  }

  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_;
  std::size_t first_free_ = none, last_free_ = none;
  std::size_t live_ = 0;
};

}  // namespace tulle::capi
