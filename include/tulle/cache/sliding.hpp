// SPDX-License-Identifier: Apache-2.0
/// \file A window over the last positions, with the first few kept as attention sinks (L2).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/cache/row_store.hpp>
#include <tulle/cache/saved_state.hpp>
#include <tulle/cache/slot_table.hpp>
#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// A sequence and how far its rings are valid.
template <CacheElement Element>
struct RingSlot : SequenceSlot {
  RowStore<Element> rows;
  Position reached = 0;         ///< rings were written up to here; truncation does not bring back what that overwrote
  Position restored_begin = 0;  ///< a restored state had nothing before this but sinks
};

/// The last `window` positions and the first `sinks`: a query at position p finds [0, sinks) and [p - window + 1, p].
/// Xiao et al., "Efficient Streaming Language Models with Attention Sinks", ICLR 2024; positions are those in the text,
/// not those in the cache.
///
/// The rows of a layer lie in a ring, row = position % ring, and the ring is a multiple of `attention_tile`, so that no
/// tile wraps. It has room for all that a query attends to, which is less in a layer that has a shorter window of its
/// own, and for `max_chunk` positions more: a chunk may be stored before its first row is attended to, and truncation
/// by as many always succeeds. Sinks are in the ring like any position and once more after it: until a position has
/// left the window, the spans are those of a contiguous cache.
///
/// A sequence has no end (`capacity` is the largest Position), but `extend` refuses more than `max_chunk` positions at
/// once. The memory of a sequence is taken when it is first extended and given back when it is released. `fork` copies.
template <CacheElement ElementType>
class SlidingCache : public SlotTable<RingSlot<ElementType>> {
  using Base = SlotTable<RingSlot<ElementType>>;
  using Base::slot;

 public:
  using Element = ElementType;

  /// Errors: invalid_argument for sizes that are zero (sinks may be) or too large.
  SlidingCache(const CacheShape& shape, std::size_t sequences, Position window, Position sinks, Position max_chunk)
      : Base(shape, sequences), window_(window), sinks_(sinks), max_chunk_(max_chunk) {
    if (window == 0) fail(ErrorCode::invalid_argument, "a sliding cache needs a window of at least 1 position");
    if (max_chunk == 0) fail(ErrorCode::invalid_argument, "a sliding cache needs chunks of at least 1 position");
    if (std::uint64_t{window} + 2 * std::uint64_t{sinks} + max_chunk + attention_tile >
        std::numeric_limits<Position>::max()) {
      fail(ErrorCode::invalid_argument, "a window of ", window, " positions, ", sinks, " sinks and chunks of ",
           max_chunk, " are too large together");
    }
    for (const LayerShape& layer : shape.layers) {
      const Position own = layer.window.positions;
      const std::size_t seen = own != 0 && own <= window ? own : std::size_t{window} + sinks;
      rings_.push_back(ring_of(seen));
      rows_.push_back(std::size_t{rings_.back()} + sinks);
    }
    RowStore<Element>::checked_bytes(shape, rows_);
  }

  Position capacity() const noexcept { return std::numeric_limits<Position>::max(); }
  Position room(SequenceId sequence) const noexcept {
    return std::min(max_chunk_, capacity() - this->length(sequence));
  }
  Position window() const noexcept { return window_; }
  Position sinks() const noexcept { return sinks_; }
  Position max_chunk() const noexcept { return max_chunk_; }
  std::size_t size_bytes() const noexcept { return this->bytes_of_rows(); }

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
    assert(position < this->length(sequence));
    RowStore<Element>& rows = slot(sequence).rows;
    const Position ring = rings_[layer];
    rows.write(layer, position % ring, key, value);
    if (position < sinks_) rows.write(layer, std::size_t{ring} + position, key, value);
  }

  /// Needs: a first query at most max_chunk before the furthest position that was extended to. What was overwritten is
  /// not visited.
  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, const Visible& visible, Visit&& visit) const noexcept {
    assert(visible.begin < visible.end && visible.end <= this->length(sequence));
    const Slot& source = slot(sequence);
    const Position ring = rings_[layer], first = visible.end - visible.queries;
    // For the last query the window has left the sinks, which the layer's own window would show.
    const bool moved = window_begin(visible.end - 1) > this->shape().layers[layer].window.begin(visible.end - 1);
    const Window window{moved ? window_ : 0};
    Position begin = std::max({window_begin(first), oldest(layer, source), visible.begin});
    const Position sinks_end = moved ? sinks_ : std::min(sinks_, begin);
    if (visible.begin < sinks_end) {
      const Position count = std::min(sinks_end, visible.end) - visible.begin;
      source.rows.for_each_span(layer, std::size_t{ring} + visible.begin, visible.begin, count, visit);
      begin = std::max(begin, sinks_end);
    }
    while (begin < visible.end) {
      const Position count = std::min(visible.end - begin, ring - begin % ring);
      source.rows.for_each_span(layer, begin % ring, begin, count, [&](KeyValueSpan<Element> span) {
        span.window = window;
        visit(std::as_const(span));
      });
      begin += count;
    }
  }

  bool truncate(SequenceId sequence, Position length) noexcept {
    Slot& target = slot(sequence);
    if (length >= target.length) return true;
    if (length == 0) {
      target.reached = target.restored_begin = target.restored = 0;
    } else {
      for (std::size_t layer = 0; layer < this->shape().layers.size(); ++layer) {
        const Position seen = std::max(window_begin(length), this->shape().layers[layer].window.begin(length));
        if (seen < oldest(layer, target)) return false;
      }
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
      for (std::size_t layer = 0; layer < rings_.size(); ++layer) {
        const Position ring = rings_[layer];
        target.rows.copy_layer(layer, source.rows, 0, 0, std::min(source.reached, ring));
        if (sinks_ != 0) target.rows.copy_layer(layer, source.rows, ring, ring, std::min(source.length, sinks_));
      }
    }
    static_cast<SequenceSlot&>(target) = source;
    target.reached = source.reached;
    target.restored_begin = source.restored_begin;
    return true;
  }

  void release(SequenceId sequence) noexcept { slot(sequence) = Slot(); }

  void save(SequenceId sequence, std::vector<std::byte>& saved) const {
    KeptPositions kept = this->kept(sequence);
    const Slot& source = slot(sequence);
    const Position end = source.length;
    if (end != 0) {
      // After a truncation the row before those that the next position attends to may be overwritten.
      const Position full = ring_of(std::size_t{window_} + sinks_);
      const Position begin = std::max({window_begin(end - 1), source.restored_begin, overwritten(source, full)});
      if (begin > sinks_) kept.prefix = sinks_, kept.begin = begin;
      for (std::size_t layer = 0; layer < rings_.size(); ++layer) {
        const Window window = this->shape().layers[layer].window;
        const Position seen = std::max(window_begin(end - 1), window.begin(end - 1));
        if (seen < oldest(layer, source)) kept.window_end = end + 1;
      }
    }
    save_state(*this, sequence, saved, kept);
  }

  /// Takes every state that holds what the next position will attend to, also one from a wider window or without any.
  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    Slot& target = slot(sequence);
    if (target.length != 0) return false;
    const auto state = SavedState<Element>::parse(bytes, this->shape());
    if (!state) return false;
    const Position end = state->length();
    const auto misses = [&](const LayerShape& layer) {
      return state->begin() > std::max(window_begin(end), layer.window.begin(end));
    };
    const auto& layers = this->shape().layers;
    if (!state->complete() && (state->prefix() < sinks_ || std::any_of(layers.begin(), layers.end(), misses))) {
      return false;
    }
    if (end == 0) return true;
    allocate(target);
    target.length = target.reached = end;
    target.restored = state->window_end();
    target.restored_begin = state->begin();
    for (std::size_t layer = 0; layer < rings_.size(); ++layer) {
      const Position ring = rings_[layer];
      for (Position begin = oldest(layer, target); begin < end;) {
        const Position count = std::min(end - begin, ring - begin % ring);
        state->load_layer(layer, begin, count, target.rows, begin % ring);
        begin += count;
      }
      if (sinks_ != 0) state->load_layer(layer, 0, std::min(sinks_, end), target.rows, ring);
    }
    return true;
  }

 private:
  using Slot = RingSlot<Element>;

  /// The first position that the window lets a query at `position` attend to; 0 while it touches the sinks.
  Position window_begin(Position position) const noexcept {
    const std::uint64_t end = std::uint64_t{position} + 1;
    return end > std::uint64_t{window_} + sinks_ ? static_cast<Position>(end - window_) : 0;
  }

  /// The first position from which on the ring of a layer holds all.
  Position oldest(std::size_t layer, const Slot& source) const noexcept {
    const Window window = this->shape().layers[layer].window;
    return std::max({source.restored_begin, overwritten(source, rings_[layer]), this->restored_begin(source, window)});
  }

  static Position overwritten(const Slot& source, Position ring) noexcept {
    return source.reached > ring ? source.reached - ring : 0;
  }

  /// Rows of a ring for queries that attend to `seen` positions.
  Position ring_of(std::size_t seen) const noexcept {
    return static_cast<Position>(round_up(seen + max_chunk_, attention_tile));
  }

  void allocate(Slot& target) const {
    if (target.rows.empty()) target.rows = RowStore<Element>(this->shape(), rows_);
  }

  Position window_;
  Position sinks_;
  Position max_chunk_;
  std::vector<Position> rings_;    // [layer]
  std::vector<std::size_t> rows_;  // [layer]: the ring and the sinks
};

static_assert(CacheLayout<SlidingCache<float>>);
static_assert(CacheLayout<SlidingCache<Half>>);
static_assert(CacheLayout<SlidingCache<std::int8_t>>);

}  // namespace tulle
