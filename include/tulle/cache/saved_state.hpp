// SPDX-License-Identifier: Apache-2.0
/// \file The bytes of a saved sequence, the same from every layout (L2).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/cache/row_store.hpp>
#include <tulle/core/half.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// All numbers are little-endian. For a model that has layers with a window, `window_end` follows as 4 bytes. Then the
/// rows: for each layer, keys then values, for each of them and each head, the elements [row][head_dim], then, for
/// int8, the scales [row] as float. Rows are those of the positions [0, prefix), then [begin, length); where nothing
/// was dropped, prefix and begin are equal. A layer with a window has those that a query at window_end - 1 attends to.
/// `kv_heads` and `head_dim` are those of the first layer.
struct SavedStateHeader {
  static constexpr std::array<char, 8> expected_magic = {'t', 'u', 'l', 'l', 'e', '.', 'k', 'v'};
  static constexpr std::uint32_t current_version = 1;

  std::array<char, 8> magic = expected_magic;
  std::uint32_t version = current_version;
  std::uint32_t element = 0;  // 0 float, 1 Half, 2 int8
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t prefix = 0;
  std::uint32_t begin = 0;
  std::uint32_t length = 0;

  template <CacheElement Element>
  static SavedStateHeader of(const CacheShape& shape) noexcept {
    SavedStateHeader header;
    header.element = std::same_as<Element, float> ? 0 : std::same_as<Element, Half> ? 1 : 2;
    header.layers = static_cast<std::uint32_t>(shape.layers.size());
    header.kv_heads = static_cast<std::uint32_t>(shape.layers.front().kv_heads);
    header.head_dim = static_cast<std::uint32_t>(shape.layers.front().head_dim);
    return header;
  }

  /// Whether two states may differ in their positions only.
  bool same_kind(const SavedStateHeader& other) const noexcept {
    return magic == other.magic && version == other.version && element == other.element && layers == other.layers &&
           kv_heads == other.kv_heads && head_dim == other.head_dim;
  }
};
static_assert(sizeof(SavedStateHeader) == 40);
static_assert(std::endian::native == std::endian::little, "saved states are little-endian");

/// Which positions of a sequence a layout still has: [0, prefix) and [begin, length), or all where those two are equal.
struct KeptPositions {
  Position prefix = 0;
  Position begin = 0;
  Position window_end = 0;  ///< layers with a window have what a query at window_end - 1 attends to; length or one more
};

/// Appends the rows that a query at the last position of a sequence attends to, as far as they are there.
/// Errors: those of the vector, which then is as it was.
template <class Cache>
void save_state(const Cache& cache, SequenceId sequence, std::vector<std::byte>& saved,
                const KeptPositions& kept = {}) {
  using Element = typename Cache::Element;
  const CacheShape& shape = cache.shape();
  SavedStateHeader header = SavedStateHeader::of<Element>(shape);
  header.length = cache.length(sequence);
  header.prefix = kept.prefix;
  header.begin = kept.begin;
  const std::uint32_t window_end = std::max(kept.window_end, header.length);
  const auto visit_all = [&](std::size_t layer, auto visit) {
    const Position begin = window_end == 0 ? 0 : shape.layers[layer].window.begin(window_end - 1);
    if (begin < header.length) cache.for_each_span(layer, sequence, {.begin = begin, .end = header.length}, visit);
  };
  const auto rows_of = [&](std::size_t layer) {
    std::size_t rows = 0;
    visit_all(layer, [&](const KeyValueSpan<Element>& span) { rows += span.count; });
    return rows;
  };
  std::size_t size = sizeof(header) + (shape.has_windows() ? sizeof(window_end) : 0);
  for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
    const auto& [kv_heads, head_dim, window] = shape.layers[layer];
    size += rows_of(layer) * 2 * kv_heads * RowStore<Element>::row_bytes(head_dim);
  }

  const std::size_t start = saved.size();
  saved.resize(start + size);
  std::memcpy(saved.data() + start, &header, sizeof(header));
  std::byte* out = saved.data() + start + sizeof(header);
  if (shape.has_windows()) {
    std::memcpy(out, &window_end, sizeof(window_end));
    out += sizeof(window_end);
  }
  for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
    const std::size_t head_dim = shape.layers[layer].head_dim, rows = rows_of(layer);
    for (const bool values : {false, true}) {
      for (std::size_t head = 0; head < shape.layers[layer].kv_heads; ++head) {
        std::byte* elements = out;
        std::byte* scales = out + rows * head_dim * sizeof(Element);
        out += rows * RowStore<Element>::row_bytes(head_dim);
        visit_all(layer, [&](const KeyValueSpan<Element>& span) {
          const std::size_t bytes = span.count * head_dim * sizeof(Element);
          std::memcpy(elements, (values ? span.values : span.keys) + head * span.head_stride, bytes);
          elements += bytes;
          if constexpr (has_row_scale<Element>) {
            const float* from = (values ? span.value_scales : span.key_scales) + head * span.scale_stride;
            std::memcpy(scales, from, span.count * sizeof(float));
            scales += span.count * sizeof(float);
          }
        });
      }
    }
  }
}

/// A view of a saved state that was checked against a layout's element type and shape, and against its own size.
/// Lifetime: that of the bytes and of the shape.
template <CacheElement Element>
class SavedState {
 public:
  /// Nothing when the bytes are not exactly one state of this kind. Needs: a shape that a `RowStore` accepted.
  static std::optional<SavedState> parse(std::span<const std::byte> bytes, const CacheShape& shape) noexcept {
    SavedState state(shape);
    if (bytes.size() < sizeof(state.header_)) return std::nullopt;
    std::memcpy(&state.header_, bytes.data(), sizeof(state.header_));
    const SavedStateHeader& header = state.header_;
    if (!header.same_kind(SavedStateHeader::of<Element>(shape))) return std::nullopt;
    if (header.prefix > header.begin || header.begin > header.length) return std::nullopt;
    state.window_end_ = header.length;
    std::span<const std::byte> rest = bytes.subspan(sizeof(header));
    if (shape.has_windows()) {
      if (rest.size() < sizeof(state.window_end_)) return std::nullopt;
      std::memcpy(&state.window_end_, rest.data(), sizeof(state.window_end_));
      if (state.window_end_ < header.length || state.window_end_ - header.length > (header.length == 0 ? 0 : 1))
        return std::nullopt;
      rest = rest.subspan(sizeof(state.window_end_));
    }
    state.data_ = rest.data();
    std::size_t bytes_left = rest.size();
    for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
      if (state.rows(layer) > bytes_left / state.position_bytes(layer)) return std::nullopt;
      bytes_left -= state.rows(layer) * state.position_bytes(layer);
    }
    if (bytes_left != 0) return std::nullopt;
    return state;
  }

  Position length() const noexcept { return header_.length; }
  Position window_end() const noexcept { return window_end_; }  ///< as in `KeptPositions`
  /// The positions [0, prefix) and [begin, length) are there; both are 0 when all are.
  Position prefix() const noexcept { return complete() ? 0 : header_.prefix; }
  Position begin() const noexcept { return complete() ? 0 : header_.begin; }
  bool complete() const noexcept { return header_.prefix == header_.begin; }

  /// Copies the positions [position, position + count), kept and in one piece, to the rows of a store from `row` on.
  /// Of a layer with a window, those that are there.
  void load(Position position, std::size_t count, RowStore<Element>& store, std::size_t row) const noexcept {
    for (std::size_t layer = 0; layer < shape_->layers.size(); ++layer) load_layer(layer, position, count, store, row);
  }

  /// The same for one layer.
  void load_layer(std::size_t layer, Position position, std::size_t count, RowStore<Element>& store,
                  std::size_t row) const noexcept {
    const auto& [kv_heads, head_dim, window] = shape_->layers[layer];
    const std::size_t missing = first(layer) > position ? first(layer) - position : 0;
    if (missing >= count) return;
    const std::size_t at = index(layer, position + static_cast<Position>(missing)),
                      elements_bytes = head_dim * sizeof(Element);
    const std::byte* head_data = data_;
    for (std::size_t before = 0; before < layer; ++before) head_data += rows(before) * position_bytes(before);
    for (const bool values : {false, true}) {
      for (std::size_t head = 0; head < kv_heads; ++head) {
        const std::byte* elements = head_data + at * elements_bytes;
        const std::byte* scales = head_data + rows(layer) * elements_bytes + at * sizeof(float);
        if (values) {
          store.load_values(layer, head, row + missing, count - missing, elements, scales);
        } else {
          store.load_keys(layer, head, row + missing, count - missing, elements, scales);
        }
        head_data += rows(layer) * RowStore<Element>::row_bytes(head_dim);
      }
    }
  }

 private:
  explicit SavedState(const CacheShape& shape) noexcept : shape_(&shape) {}

  /// The first position that a layer has.
  Position first(std::size_t layer) const noexcept {
    return window_end_ == 0 ? 0 : shape_->layers[layer].window.begin(window_end_ - 1);
  }
  /// Rows of the layer before `position`, which is kept and not before `first`.
  std::size_t index(std::size_t layer, Position position) const noexcept {
    const Position from = first(layer);
    if (position < header_.prefix) return position - from;
    return (header_.prefix > from ? header_.prefix - from : 0) + (position - std::max(header_.begin, from));
  }
  std::size_t rows(std::size_t layer) const noexcept { return index(layer, header_.length); }
  std::size_t position_bytes(std::size_t layer) const noexcept {
    const auto& [kv_heads, head_dim, window] = shape_->layers[layer];
    return 2 * kv_heads * RowStore<Element>::row_bytes(head_dim);
  }

  SavedStateHeader header_;
  const CacheShape* shape_;
  Position window_end_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace tulle
