// SPDX-License-Identifier: Apache-2.0
/// \file The concept of a cache layout: where the keys and values of past tokens live (L2).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// Attention folds this many positions at a time into its running softmax, always cut at multiples of it, so that the
/// bits of a result depend on positions and not on where a layout keeps its rows.
inline constexpr Position attention_tile = 64;

struct CacheShape {
  std::size_t layers = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t row_elements() const noexcept { return kv_heads * head_dim; }
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
};

namespace detail {

/// What a layout is asked to call in the concept: it takes spans of any element.
struct SpanVisitor {
  template <class Element>
  void operator()(const KeyValueSpan<Element>&) const noexcept {}
};

}  // namespace detail

/// A layout owns its storage for a fixed number of sequence slots. It never assumes that rows of neighbouring positions
/// are neighbours in memory, and neither does anybody who reads it.
///
/// - `room(sequence)` is the number of positions that one `extend` can add now: 0 when the sequence cannot grow.
/// - `extend(sequence, end)` makes positions [length, end) writable, so that length is `end`, and may allocate. It is
///   false when they do not fit, which changes nothing. Call it once per forward pass: a layout may limit how far it goes
///   at once. `append` then stores one row [kv_heads * head_dim] of keys and of values, converted to the element type
///   (float, Half, int8); it never fails.
/// - `for_each_span(layer, sequence, position, visit)` visits, in order of position, the rows that a query at `position`
///   (< length, appended) sees: all up to and including it, or what the layout's window keeps of them.
/// - `truncate(sequence, length)` forgets the positions from `length` on in O(1). It is false when rows before it were
///   overwritten meanwhile (a window that moved on), which leaves the sequence as it was.
/// - `fork(from, to)` makes slot `to`, whatever it held, an independent continuation of `from`: shared where the layout
///   can, copied elsewhere. It is false when there is no room. `release` empties a slot.
/// - `save` appends the visible state of a sequence to bytes. `restore` takes it into an empty slot (length 0). It is
///   false when the state does not fit this layout (shape, element type, sizes: nothing in it is trusted), which leaves
///   the slot empty. The bytes depend on what was visible and not on the layout.
///
/// Every position that was extended to is appended, in all layers, before it is visited, forked or saved.
/// Errors: extend, fork and restore throw `Error` memory when the system refuses an allocation.
/// Threads: one thread changes a cache; `append` to different rows and all const members may run concurrently.
template <class C>
concept CacheLayout =
    requires(C& cache, const C& view, std::size_t layer, SequenceId sequence, Position position, const float* row,
             std::vector<std::byte>& saved, std::span<const std::byte> bytes, const detail::SpanVisitor& visit) {
      { view.shape() } noexcept -> std::convertible_to<CacheShape>;
      { view.sequences() } noexcept -> std::convertible_to<std::size_t>;
      { view.capacity() } noexcept -> std::same_as<Position>;  // positions that one sequence can reach at most
      { view.length(sequence) } noexcept -> std::same_as<Position>;
      { view.room(sequence) } noexcept -> std::same_as<Position>;
      { view.size_bytes() } noexcept -> std::convertible_to<std::size_t>;
      { cache.extend(sequence, position) } -> std::same_as<bool>;
      { cache.append(layer, sequence, position, row, row) } noexcept -> std::same_as<void>;
      { view.for_each_span(layer, sequence, position, visit) } noexcept -> std::same_as<void>;
      { cache.truncate(sequence, position) } noexcept -> std::same_as<bool>;
      { cache.fork(sequence, sequence) } -> std::same_as<bool>;
      { cache.release(sequence) } noexcept -> std::same_as<void>;
      { view.save(sequence, saved) } -> std::same_as<void>;
      { cache.restore(sequence, bytes) } -> std::same_as<bool>;
    };

}  // namespace tulle
