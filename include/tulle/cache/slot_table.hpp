// SPDX-License-Identifier: Apache-2.0
/// \file What the cache layouts share: a table of sequence slots and the shape of the layers (L2).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/saved_state.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// What every slot holds. A layout derives its slot from this one.
struct SequenceSlot {
  Position length = 0;
  Position restored = 0;  ///< the length that a saved state was restored at; 0: none was
};

/// The base of the layouts: `SlotType` derives from `SequenceSlot`.
template <class SlotType>
class SlotTable {
 public:
  const CacheShape& shape() const noexcept { return shape_; }
  std::size_t sequences() const noexcept { return slots_.size(); }
  Position length(SequenceId sequence) const noexcept { return slot(sequence).length; }

 protected:
  /// Errors: invalid_argument for a number of sequences that makes no sense.
  SlotTable(CacheShape shape, std::size_t sequences) : shape_(std::move(shape)), slots_(checked(sequences)) {}

  SlotType& slot(SequenceId sequence) noexcept {
    assert(sequence < slots_.size());
    return slots_[sequence];
  }
  const SlotType& slot(SequenceId sequence) const noexcept {
    assert(sequence < slots_.size());
    return slots_[sequence];
  }

  /// Of slots that have rows of their own.
  std::size_t bytes_of_rows() const noexcept {
    std::size_t sum = 0;
    for (const SlotType& each : slots_) sum += each.rows.size_bytes();
    return sum;
  }

  /// The first position that a layer with `window` holds: a saved state has what its last position attended to, and no
  /// more.
  static Position restored_begin(const SlotType& slot, Window window) noexcept {
    return slot.restored == 0 ? 0 : window.begin(slot.restored - 1);
  }

  /// The argument of `save_state` where nothing was overwritten.
  KeptPositions kept(SequenceId sequence) const noexcept {
    const SlotType& source = slot(sequence);
    return {.window_end = std::min(std::max(source.length, source.restored), source.length + 1)};
  }

  /// `truncate` of layouts that overwrite nothing: only what a restored state lacks cannot be gone back to.
  bool shorten(SequenceId sequence, Position length) noexcept {
    SlotType& target = slot(sequence);
    if (length >= target.length) return true;
    if (length == 0) target.restored = 0;
    for (const LayerShape& layer : shape_.layers) {
      if (layer.window.begin(length) < restored_begin(target, layer.window)) return false;
    }
    target.length = length;
    return true;
  }

 private:
  static std::size_t checked(std::size_t sequences) {
    constexpr std::size_t max_sequences = 65536;
    if (sequences == 0 || sequences > max_sequences) {
      fail(ErrorCode::invalid_argument, "a cache holds 1 to ", max_sequences, " sequences, not ", sequences);
    }
    return sequences;
  }

  CacheShape shape_;
  std::vector<SlotType> slots_;
};

}  // namespace tulle
