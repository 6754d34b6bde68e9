// SPDX-License-Identifier: Apache-2.0
/// \file The concept of a cache layout: where the keys and values of past tokens live (L2).
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// Attention folds this many positions at a time into its running softmax, always cut at multiples of it, so that the
/// bits of a result depend on positions and not on where a layout keeps its rows.
inline constexpr Position attention_tile = 64;

/// The positions that a query attends to: every position up to its own, or the last `positions` of them.
struct Window {
  Position positions = 0;  ///< 0: no limit

  /// The first position that a query at `position` attends to.
  Position begin(Position position) const noexcept {
    return positions == 0 || position < positions ? 0 : position - positions + 1;
  }
  bool operator==(const Window&) const = default;
};

/// What queries of one layer attend to: the positions [begin, end). The last query is at end - 1. Queries at the
/// `queries` positions before `end` share the visit; `begin` is then that of the first of them.
struct Visible {
  Position begin = 0;
  Position end = 0;
  Position queries = 1;
};

/// The keys and values of one layer.
struct LayerShape {
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  Window window{};  ///< of the layer's queries: a layout may drop what is older
  std::size_t row_elements() const noexcept { return kv_heads * head_dim; }
  bool operator==(const LayerShape&) const = default;
};

struct CacheShape {
  std::vector<LayerShape> layers;

  CacheShape() = default;
  explicit CacheShape(std::vector<LayerShape> each) : layers(std::move(each)) {}
  CacheShape(std::size_t count, const LayerShape& each) : layers(count, each) {}  ///< layers that are all alike

  bool has_windows() const noexcept {
    for (const LayerShape& layer : layers) {
      if (layer.window.positions != 0) return true;
    }
    return false;
  }
};

/// Rows of consecutive positions that lie one after the other in memory, for every head of one layer.
/// Row i of head h: `keys + h * head_stride + i * head_dim`, likewise values. int8 elements carry one scale per row of
/// a head: `key_scales[h * scale_stride + i]`; other elements leave the scales null. A span begins and ends only at a
/// multiple of `attention_tile` or where the visible positions begin or end.
template <class ElementType>
struct KeyValueSpan {
  Position begin = 0;
  std::size_t count = 0;
  const ElementType* keys = nullptr;
  const ElementType* values = nullptr;
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;
  std::size_t head_stride = 0;
  std::size_t scale_stride = 0;
  const ElementType* next_keys = nullptr;  ///< of head 0 in the span that follows, to be prefetched; null: unknown
  std::size_t next_count = 0, next_stride = 0;
  Window window{};  ///< of the layout; queries that share a visit attend to the part of this span in it
};

namespace detail {

/// The visitor in the concept of a layout: it takes spans of any element.
struct SpanVisitor {
  template <class Element>
  void operator()(const KeyValueSpan<Element>&) const noexcept {}
};

}  // namespace detail

/// A layout holds the rows of a `CacheShape`, which may differ from layer to layer, for a fixed number of sequence
/// slots. It never assumes that rows of neighbouring positions are neighbours in memory, and neither may its readers.
///
/// - `room(sequence)` is the number of positions that one `extend` can add now: 0 when the sequence cannot grow.
/// - `extend(sequence, end)` makes positions [length, end) writable, so that length is `end`, and may allocate. It is
///   false when they do not fit, which changes nothing. Call it once per forward pass: a layout may limit how far it
///   goes at once. `append` then stores one row [kv_heads * head_dim] of keys and of values, converted to the element
///   type (float, Half, int8); it never fails.
/// - `for_each_span(layer, sequence, visible, visit)` visits, in order of position, the rows of `visible` (its end at
///   most the length, appended) that the layout keeps for the queries. `visible` is what the model lets them attend to;
///   the layout takes its own window off that. With several queries it visits what any of them attends to.
/// - `truncate(sequence, length)` forgets the positions from `length` on in O(1). It is false when rows before it were
///   overwritten meanwhile (a window that moved on), which leaves the sequence as it was.
/// - `fork(from, to)` makes slot `to`, whatever it held, an independent continuation of `from`: shared where the layout
///   can, copied elsewhere. It is false when there is no room. `release` empties a slot.
/// - `save` appends to bytes what the last position attends to. `restore` takes it into an empty slot (length 0). It is
///   false when the state does not fit this layout (shape, element type, sizes: nothing in it is trusted), which leaves
///   the slot empty. The bytes depend on what was visible and not on the layout.
///
/// Every position that was extended to is appended, in all layers, before it is visited, forked or saved.
/// Errors: extend, fork and restore throw `Error` memory when the system refuses an allocation.
/// Threads: one thread changes a cache; `append` to different rows and all const members may run concurrently.
template <class C>
concept CacheLayout = requires(C& cache, const C& view, std::size_t layer, SequenceId sequence, Position position,
                               const float* row, std::vector<std::byte>& saved, std::span<const std::byte> bytes,
                               const Visible& visible, const detail::SpanVisitor& visit) {
  { view.shape() } noexcept -> std::same_as<const CacheShape&>;
  { view.sequences() } noexcept -> std::convertible_to<std::size_t>;
  { view.capacity() } noexcept -> std::same_as<Position>;  // positions that one sequence can reach at most
  { view.length(sequence) } noexcept -> std::same_as<Position>;
  { view.room(sequence) } noexcept -> std::same_as<Position>;
  { view.size_bytes() } noexcept -> std::convertible_to<std::size_t>;
  { cache.extend(sequence, position) } -> std::same_as<bool>;
  { cache.append(layer, sequence, position, row, row) } noexcept -> std::same_as<void>;
  { view.for_each_span(layer, sequence, visible, visit) } noexcept -> std::same_as<void>;
  { cache.truncate(sequence, position) } noexcept -> std::same_as<bool>;
  { cache.fork(sequence, sequence) } -> std::same_as<bool>;
  { cache.release(sequence) } noexcept -> std::same_as<void>;
  { view.save(sequence, saved) } -> std::same_as<void>;
  { cache.restore(sequence, bytes) } -> std::same_as<bool>;
};

/// What a layout may do besides: sequences take the rows of what they begin with from others, running or released.
///
/// - `publish(sequence, tokens)` lets others take the rows of a sequence, whose history is `tokens`. Call it whenever
///   rows were appended: it costs nothing where there is nothing new.
/// - `adopt(sequence, tokens)` makes an empty sequence hold as many positions of `tokens` as were published, except the
///   last one, whose row remains to be run. It returns the new length, and may allocate.
template <class C>
concept PrefixSharing = requires(C& cache, SequenceId sequence, std::span<const Token> tokens) {
  { cache.publish(sequence, tokens) } noexcept -> std::same_as<void>;
  { cache.adopt(sequence, tokens) } -> std::same_as<Position>;
};

}  // namespace tulle
