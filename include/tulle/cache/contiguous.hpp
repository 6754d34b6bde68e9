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
#include <tulle/core/types.hpp>

namespace tulle {

/// Row = position. The memory of a sequence, `capacity` rows, is taken when it is first extended and given back when it
/// is released. `fork` copies.
template <CacheElement ElementType>
class ContiguousCache {
 public:
  using Element = ElementType;

  /// Errors: invalid_argument for sizes that are zero or too large.
  ContiguousCache(const CacheShape& shape, std::size_t sequences, Position capacity)
      : shape_(shape), capacity_(capacity), slots_(checked_sequences(sequences)) {
    RowStore<Element>::checked_bytes(shape, capacity);
  }

  CacheShape shape() const noexcept { return shape_; }
  std::size_t sequences() const noexcept { return slots_.size(); }
  Position capacity() const noexcept { return capacity_; }
  Position length(SequenceId sequence) const noexcept { return slot(sequence).length; }
  Position room(SequenceId sequence) const noexcept { return capacity_ - length(sequence); }
  std::size_t size_bytes() const noexcept {
    std::size_t sum = 0;
    for (const Slot& each : slots_) sum += each.rows.size_bytes();
    return sum;
  }

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
    assert(position < length(sequence));
    slot(sequence).rows.write(layer, position, key, value);
  }

  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, Position position, Visit&& visit) const noexcept {
    assert(position < length(sequence));
    visit(slot(sequence).rows.span(layer, 0, 0, std::size_t{position} + 1));
  }

  bool truncate(SequenceId sequence, Position length) noexcept {
    if (length < slot(sequence).length) slot(sequence).length = length;
    return true;
  }

  bool fork(SequenceId from, SequenceId to) {
    if (from == to) return true;
    const Slot& source = slot(from);
    Slot& target = slot(to);
    if (source.length != 0) {
      allocate(target);
      target.rows.copy(source.rows, 0, 0, source.length);
    }
    target.length = source.length;
    return true;
  }

  void release(SequenceId sequence) noexcept { slot(sequence) = Slot(); }

  void save(SequenceId sequence, std::vector<std::byte>& saved) const { save_state(*this, sequence, saved); }

  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    if (length(sequence) != 0) return false;
    const auto state = SavedState<Element>::parse(bytes, shape_);
    if (!state || !state->complete() || !extend(sequence, state->length())) return false;
    if (state->length() != 0) state->load(0, state->length(), slot(sequence).rows, 0);
    return true;
  }

 private:
  struct Slot {
    RowStore<Element> rows;
    Position length = 0;
  };

  Slot& slot(SequenceId sequence) noexcept {
    assert(sequence < slots_.size());
    return slots_[sequence];
  }
  const Slot& slot(SequenceId sequence) const noexcept {
    assert(sequence < slots_.size());
    return slots_[sequence];
  }

  void allocate(Slot& target) const {
    if (target.rows.empty()) target.rows = RowStore<Element>(shape_, capacity_);
  }

  CacheShape shape_;
  Position capacity_;
  std::vector<Slot> slots_;
};

static_assert(CacheLayout<ContiguousCache<float>>);
static_assert(CacheLayout<ContiguousCache<Half>>);
static_assert(CacheLayout<ContiguousCache<std::int8_t>>);

}  // namespace tulle
