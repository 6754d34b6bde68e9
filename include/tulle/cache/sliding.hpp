// SPDX-License-Identifier: Apache-2.0
/// \file A window over the last positions, with the first few kept as attention sinks (L2).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/cache/row_store.hpp>
#include <tulle/cache/saved_state.hpp>
#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// A query at position p sees the positions [0, sinks) and [p - window + 1, p]. Sinks: Xiao et al., "Efficient
/// Streaming Language Models with Attention Sinks", ICLR 2024; positions are those in the text, not those in the cache.
///
/// Rows lie in a ring, row = position % ring, and the ring is a multiple of `attention_tile`, so that no tile wraps. It
/// has room for window + sinks + max_chunk positions: a chunk of `max_chunk` rows may be stored before its first row is
/// attended to, and truncation by as many always succeeds. Sinks are in the ring like any position and once more after
/// it: until a position has left the window, the spans are those of a contiguous cache.
///
/// A sequence has no end (`capacity` is the largest Position), but `extend` refuses more than `max_chunk` positions at
/// once. The memory of a sequence is taken when it is first extended and given back when it is released. `fork` copies.
template <CacheElement ElementType>
class SlidingCache {
 public:
  using Element = ElementType;

  /// Errors: invalid_argument for sizes that are zero (sinks may be) or too large.
  SlidingCache(const CacheShape& shape, std::size_t sequences, Position window, Position sinks, Position max_chunk)
      : shape_(shape), window_(window), sinks_(sinks), max_chunk_(max_chunk), slots_(checked_sequences(sequences)) {
    if (window == 0) fail(ErrorCode::invalid_argument, "a sliding cache needs a window of at least 1 position");
    if (max_chunk == 0) fail(ErrorCode::invalid_argument, "a sliding cache needs chunks of at least 1 position");
    const std::uint64_t positions = std::uint64_t{window} + sinks + max_chunk;
    if (positions + sinks + attention_tile > std::numeric_limits<Position>::max()) {
      fail(ErrorCode::invalid_argument, "a window of ", window, " positions, ", sinks, " sinks and chunks of ",
           max_chunk, " are too large together");
    }
    ring_ = static_cast<Position>(round_up(static_cast<std::size_t>(positions), attention_tile));
    RowStore<Element>::checked_bytes(shape, std::size_t{ring_} + sinks_);
  }

  CacheShape shape() const noexcept { return shape_; }
  std::size_t sequences() const noexcept { return slots_.size(); }
  Position capacity() const noexcept { return std::numeric_limits<Position>::max(); }
  Position length(SequenceId sequence) const noexcept { return slot(sequence).length; }
  Position room(SequenceId sequence) const noexcept { return std::min(max_chunk_, capacity() - length(sequence)); }
  Position window() const noexcept { return window_; }
  Position sinks() const noexcept { return sinks_; }
  Position max_chunk() const noexcept { return max_chunk_; }
  std::size_t size_bytes() const noexcept {
    std::size_t sum = 0;
    for (const Slot& each : slots_) sum += each.rows.size_bytes();
    return sum;
  }

  bool extend(SequenceId sequence, Position end) {
    Slot& target = slot(sequence);
    if (end <= target.length) return true;
    if (end - target.length > max_chunk_) return false;
    allocate(target);
    target.length = end;
    target.reached = std::max(target.reached, end);
    return true;
  }

  void append(std::size_t layer, SequenceId sequence, Position position, const float* key,
              const float* value) noexcept {
    assert(position < length(sequence));
    RowStore<Element>& rows = slot(sequence).rows;
    rows.write(layer, position % ring_, key, value);
    if (position < sinks_) rows.write(layer, std::size_t{ring_} + position, key, value);
  }

  /// Needs: a position at most max_chunk before the furthest that was extended to. What was overwritten is not visited.
  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, Position position, Visit&& visit) const noexcept {
    assert(position < length(sequence));
    const Slot& source = slot(sequence);
    Position begin = std::max(window_begin(position), oldest(source));
    if (begin != 0 && sinks_ != 0) visit(source.rows.span(layer, ring_, 0, std::min({begin, sinks_, position + 1})));
    while (begin <= position) {
      const Position count = std::min(position - begin + 1, ring_ - begin % ring_);
      visit(source.rows.span(layer, begin % ring_, begin, count));
      begin += count;
    }
  }

  bool truncate(SequenceId sequence, Position length) noexcept {
    Slot& target = slot(sequence);
    if (length >= target.length) return true;
    if (length == 0) {
      target.reached = target.restored_begin = 0;
    } else if (window_begin(length) < oldest(target)) {
      return false;
    }
    target.length = length;
    return true;
  }

  bool fork(SequenceId from, SequenceId to) {
    if (from == to) return true;
    const Slot& source = slot(from);
    Slot& target = slot(to);
    if (source.length != 0) {
      allocate(target);
      target.rows.copy(source.rows, 0, 0, std::min(source.reached, ring_));
      if (sinks_ != 0) target.rows.copy(source.rows, ring_, ring_, std::min(source.length, sinks_));
    }
    target.length = source.length;
    target.reached = source.reached;
    target.restored_begin = source.restored_begin;
    return true;
  }

  void release(SequenceId sequence) noexcept { slot(sequence) = Slot(); }

  void save(SequenceId sequence, std::vector<std::byte>& saved) const { save_state(*this, sequence, saved); }

  /// Takes every state that holds what the next position will see, also one from a wider window or without any.
  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    Slot& target = slot(sequence);
    if (target.length != 0) return false;
    const auto state = SavedState<Element>::parse(bytes, shape_);
    if (!state) return false;
    const Position end = state->length();
    if (!state->complete() && (state->prefix() < sinks_ || state->begin() > window_begin(end))) return false;
    if (end == 0) return true;
    allocate(target);
    target.length = target.reached = end;
    target.restored_begin = state->begin();
    for (Position begin = oldest(target); begin < end;) {
      const Position count = std::min(end - begin, ring_ - begin % ring_);
      state->load(begin, count, target.rows, begin % ring_);
      begin += count;
    }
    if (sinks_ != 0) state->load(0, std::min(sinks_, end), target.rows, ring_);
    return true;
  }

 private:
  struct Slot {
    RowStore<Element> rows;
    Position length = 0;
    Position reached = 0;         // the ring was written up to here; truncation does not bring back what that overwrote
    Position restored_begin = 0;  // a restored state had nothing before this but sinks
  };

  Slot& slot(SequenceId sequence) noexcept {
    assert(sequence < slots_.size());
    return slots_[sequence];
  }
  const Slot& slot(SequenceId sequence) const noexcept {
    assert(sequence < slots_.size());
    return slots_[sequence];
  }

  /// Where the visible positions that end with `position` begin; 0 while they touch the sinks.
  Position window_begin(Position position) const noexcept {
    const std::uint64_t end = std::uint64_t{position} + 1;
    return end > std::uint64_t{window_} + sinks_ ? static_cast<Position>(end - window_) : 0;
  }

  /// The first position from which on the ring holds all.
  Position oldest(const Slot& source) const noexcept {
    return std::max(source.restored_begin, source.reached > ring_ ? source.reached - ring_ : 0);
  }

  void allocate(Slot& target) const {
    if (target.rows.empty()) target.rows = RowStore<Element>(shape_, std::size_t{ring_} + sinks_);
  }

  CacheShape shape_;
  Position window_;
  Position sinks_;
  Position max_chunk_;
  Position ring_ = 0;
  std::vector<Slot> slots_;
};

static_assert(CacheLayout<SlidingCache<float>>);
static_assert(CacheLayout<SlidingCache<Half>>);
static_assert(CacheLayout<SlidingCache<std::int8_t>>);

}  // namespace tulle
