// SPDX-License-Identifier: Apache-2.0
/// \file Every sequence in memory of its own, position after position (L2).
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/cache/row_store.hpp>
#include <tulle/cache/saved_state.hpp>
#include <tulle/cache/slot_table.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// A sequence with rows of its own.
template <CacheElement Element>
struct RowSlot : SequenceSlot {
  RowStore<Element> rows;
};

/// Row = position. The memory of a sequence, `capacity` rows of every layer, is reserved when it is first extended,
/// provided by the system as it grows (see `RowStore`), and given back when it is released. Layers with a window keep
/// all their rows, too. `fork` copies.
template <CacheElement ElementType>
class ContiguousCache : public SlotTable<RowSlot<ElementType>> {
  using Base = SlotTable<RowSlot<ElementType>>;
  using Base::slot;

 public:
  using Element = ElementType;

  /// Errors: invalid_argument for sizes that are zero or too large.
  ContiguousCache(const CacheShape& shape, std::size_t sequences, Position capacity)
      : Base(shape, sequences), capacity_(capacity) {
    RowStore<Element>::checked_bytes(shape, capacity);
  }

  Position capacity() const noexcept { return capacity_; }
  Position room(SequenceId sequence) const noexcept { return capacity_ - this->length(sequence); }
  std::size_t size_bytes() const noexcept { return this->bytes_of_rows(); }

  bool extend(SequenceId sequence, Position end) {
    if (end > capacity_) return false;
    Slot& target = slot(sequence);
    if (end <= target.length) return true;
    allocate(target);
    target.length = end;
    return true;
  }

  void append(std::size_t layer, SequenceId sequence, Position position, const float* key,
              const float* value) noexcept {
    assert(position < this->length(sequence));
    slot(sequence).rows.write(layer, position, key, value);
  }

  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, const Visible& visible, Visit&& visit) const noexcept {
    assert(visible.begin < visible.end && visible.end <= this->length(sequence));
    slot(sequence).rows.for_each_span(layer, visible.begin, visible.begin, visible.end - visible.begin, visit);
  }

  /// False only where a restored state lacks positions that a layer with a window attends to.
  bool truncate(SequenceId sequence, Position length) noexcept { return this->shorten(sequence, length); }

  bool fork(SequenceId from, SequenceId to) {
    if (from == to) return true;
    const Slot& source = slot(from);
    Slot& target = slot(to);
    if (source.length != 0) {
      allocate(target);
      target.rows.copy(source.rows, 0, 0, source.length);
    }
    target.length = source.length;
    target.restored = source.restored;
    return true;
  }

  void release(SequenceId sequence) noexcept { slot(sequence) = Slot(); }

  void save(SequenceId sequence, std::vector<std::byte>& saved) const {
    save_state(*this, sequence, saved, this->kept(sequence));
  }

  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    if (this->length(sequence) != 0) return false;
    const auto state = SavedState<Element>::parse(bytes, this->shape());
    if (!state || !state->complete() || !extend(sequence, state->length())) return false;
    if (state->length() != 0) state->load(0, state->length(), slot(sequence).rows, 0);
    slot(sequence).restored = state->window_end();
    return true;
  }

 private:
  using Slot = RowSlot<Element>;

  void allocate(Slot& target) const {
    if (target.rows.empty()) target.rows = RowStore<Element>(this->shape(), capacity_);
  }

  Position capacity_;
};

static_assert(CacheLayout<ContiguousCache<float>>);
static_assert(CacheLayout<ContiguousCache<Half>>);
static_assert(CacheLayout<ContiguousCache<std::int8_t>>);

}  // namespace tulle
