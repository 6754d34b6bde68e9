// SPDX-License-Identifier: Apache-2.0
/// \file The memory under every cache layout: encoded key and value rows by layer, head and row number (L2).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// Keys and values [block of rows][layer][kv_head][row][head_dim], apart, with the scales of elements that have scales,
/// likewise without head_dim. The layout decides which position a row holds. The memory is not touched before rows are
/// written: so the system provides that of a block, huge pages included, when its first row is.
template <CacheElement Element>
class RowStore {
 public:
  /// Of a head, after each other in memory; a multiple of `attention_tile`.
  static constexpr std::size_t block_rows = 4 * attention_tile;

  /// Of a row of one head in memory and in saved states, keys and values apart.
  static constexpr std::size_t row_bytes(std::size_t head_dim) noexcept {
    return head_dim * sizeof(Element) + (has_row_scale<Element> ? sizeof(float) : 0);
  }

  /// Bytes of keys and values of `rows` rows a layer; a layout checks in its constructor what it will allocate later.
  /// Errors: invalid_argument when a number is zero or the bytes cannot be counted.
  static std::size_t checked_bytes(const CacheShape& shape, std::size_t rows) {
    return RowStore::checked_bytes(shape, std::vector<std::size_t>(shape.layers.size(), rows));
  }

  /// The same with rows[layer] rows of each layer.
  static std::size_t checked_bytes(const CacheShape& shape, const std::vector<std::size_t>& rows) {
    if (shape.layers.empty()) fail(ErrorCode::invalid_argument, "a cache of 0 layers: there must be at least 1");
    std::size_t sum = 0;
    for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
      const auto& [kv_heads, head_dim, window] = shape.layers[layer];
      const auto refuse = [&, heads = kv_heads, dim = head_dim](const char* why) {
        fail(ErrorCode::invalid_argument, "a cache of ", shape.layers.size(), " layers, ", heads, " heads, ", dim,
             " elements a head, ", rows[layer], " rows", why);
      };
      std::size_t elements = 2;
      for (const std::size_t factor : {kv_heads, head_dim, rows[layer]}) {
        if (factor == 0) refuse(": each must be at least 1");
        if (factor > std::numeric_limits<std::uint32_t>::max() || __builtin_mul_overflow(elements, factor, &elements)) {
          refuse(" is too large");
        }
      }
      constexpr std::size_t max_bytes = std::numeric_limits<std::size_t>::max() / 2;  // half: room for alignment
      if (elements > max_bytes / row_bytes(1)) refuse(" is too large");
      const std::size_t bytes = elements / head_dim * row_bytes(head_dim);
      if (bytes > max_bytes - sum) refuse(" is too large");
      sum += bytes;
    }
    return sum;
  }

  RowStore() = default;

  /// Errors: as `checked_bytes`; memory when the system refuses.
  RowStore(const CacheShape& shape, std::size_t rows)
      : RowStore(shape, std::vector<std::size_t>(shape.layers.size(), rows)) {}
  RowStore(const CacheShape& shape, const std::vector<std::size_t>& rows) {
    checked_bytes(shape, rows);
    std::size_t elements = 0, all_rows = 0, most = 0, blocks = 0;
    for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
      layers_.push_back({shape.layers[layer].kv_heads, shape.layers[layer].head_dim, rows[layer], blocks});
      blocks += (rows[layer] + block_rows - 1) / block_rows;
      most = std::max(most, rows[layer]);
    }
    blocks_.resize(blocks);
    for (std::size_t row = 0; row < most; row += block_rows) {
      for (const Layer& layer : layers_) {
        if (row >= layer.rows) continue;
        blocks_[layer.first_block + row / block_rows] = {elements, all_rows};
        const std::size_t head_rows = layer.kv_heads * layer.rows_of_block(row);
        elements += head_rows * layer.head_dim;
        all_rows += head_rows;
      }
    }
    keys_ = Part(elements, all_rows);
    values_ = Part(elements, all_rows);
  }

  bool empty() const noexcept { return layers_.empty(); }
  std::size_t size_bytes() const noexcept { return keys_.size_bytes() + values_.size_bytes(); }

  /// Shapes: key and value [kv_heads * head_dim].
  void write(std::size_t layer, std::size_t row, const float* key, const float* value) noexcept {
    const Layer& of = layers_[layer];
    for (std::size_t head = 0; head < of.kv_heads; ++head) {
      const Place at = place(of, head, row);
      keys_.encode(of, at, key + head * of.head_dim);
      values_.encode(of, at, value + head * of.head_dim);
    }
  }

  /// Visits rows [row, row + count) of all heads of a layer, which hold the positions from `begin` on, a block at a
  /// time.
  template <class Visit>
  void for_each_span(std::size_t layer, std::size_t row, Position begin, std::size_t count,
                     Visit&& visit) const noexcept {
    const Layer& of = layers_[layer];
    for (std::size_t end = row + count; row < end;) {
      const std::size_t part = std::min(end - row, block_rows - row % block_rows);
      const Place at = place(of, 0, row);
      const std::size_t next = row + part;
      const bool ends = next == end;
      visit(KeyValueSpan<Element>{.begin = begin,
                                  .count = part,
                                  .keys = keys_.elements.data() + at.element,
                                  .values = values_.elements.data() + at.element,
                                  .key_scales = keys_.scales_at(at),
                                  .value_scales = values_.scales_at(at),
                                  .head_stride = of.rows_of_block(row) * of.head_dim,
                                  .scale_stride = of.rows_of_block(row),
                                  .next_keys = ends ? nullptr : keys_.elements.data() + place(of, 0, next).element,
                                  .next_count = ends ? 0 : std::min(end - next, of.rows_of_block(next)),
                                  .next_stride = ends ? 0 : of.rows_of_block(next) * of.head_dim,
                                  .window = {}});
      row = next;
      begin += static_cast<Position>(part);
    }
  }

  /// Copies rows [from_row, from_row + count) of every head of a layer to rows from `row` on, which are others.
  void copy_layer(std::size_t layer, const RowStore& from, std::size_t from_row, std::size_t row,
                  std::size_t count) noexcept {
    const Layer &source = from.layers_[layer], &target = layers_[layer];
    for (std::size_t done = 0; done < count;) {
      const std::size_t part = std::min(count - done, block_rows - (from_row + done) % block_rows);
      for (std::size_t head = 0; head < target.kv_heads; ++head) {
        const Place at = from.place(source, head, from_row + done);
        load(keys_, layer, head, row + done, part, from.keys_.elements.data() + at.element, from.keys_.scales_at(at));
        load(values_, layer, head, row + done, part, from.values_.elements.data() + at.element,
             from.values_.scales_at(at));
      }
      done += part;
    }
  }

  /// Copies the same rows of every layer.
  void copy(const RowStore& from, std::size_t from_row, std::size_t row, std::size_t count) noexcept {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) copy_layer(layer, from, from_row, row, count);
  }

  /// Takes `count` rows of one head that are encoded already. `elements` and `scales` need not be aligned.
  void load_keys(std::size_t layer, std::size_t head, std::size_t row, std::size_t count, const void* elements,
                 const void* scales) noexcept {
    load(keys_, layer, head, row, count, elements, scales);
  }
  void load_values(std::size_t layer, std::size_t head, std::size_t row, std::size_t count, const void* elements,
                   const void* scales) noexcept {
    load(values_, layer, head, row, count, elements, scales);
  }

 private:
  struct Layer {
    std::size_t kv_heads, head_dim, rows;
    std::size_t first_block;  ///< in blocks_

    /// Of the block that holds `row`: the last may be shorter.
    std::size_t rows_of_block(std::size_t row) const noexcept {
      return std::min(block_rows, rows - row / block_rows * block_rows);
    }
  };

  /// Where the elements and the scale of a row, or of the first of a block, are in the buffers.
  struct Place {
    std::size_t element, scale;
  };

  /// The keys or the values.
  struct Part {
    AlignedBuffer<Element> elements;
    AlignedBuffer<float> scales;

    Part() = default;
    Part(std::size_t all_elements, std::size_t rows)
        : elements(all_elements, Uninitialized{}), scales(has_row_scale<Element> ? rows : 0, Uninitialized{}) {}

    std::size_t size_bytes() const noexcept { return elements.size_bytes() + scales.size_bytes(); }
    const float* scales_at(const Place& at) const noexcept {
      return has_row_scale<Element> ? scales.data() + at.scale : nullptr;
    }
    void encode(const Layer& of, const Place& at, const float* from) noexcept {
      const float scale = encode_row(from, of.head_dim, elements.data() + at.element);
      if constexpr (has_row_scale<Element>) scales[at.scale] = scale;
    }
  };

  Place place(const Layer& of, std::size_t head, std::size_t row) const noexcept {
    assert(head < of.kv_heads && row < of.rows);
    const Place& block = blocks_[of.first_block + row / block_rows];
    const std::size_t at = head * of.rows_of_block(row) + row % block_rows;
    return {block.element + at * of.head_dim, block.scale + at};
  }

  void load(Part& part, std::size_t layer, std::size_t head, std::size_t row, std::size_t count, const void* elements,
            const void* scales) noexcept {
    const Layer& of = layers_[layer];
    for (std::size_t done = 0; done < count;) {
      const std::size_t rows = std::min(count - done, block_rows - (row + done) % block_rows);
      const Place at = place(of, head, row + done);
      std::memcpy(part.elements.data() + at.element,
                  static_cast<const std::byte*>(elements) + done * of.head_dim * sizeof(Element),
                  rows * of.head_dim * sizeof(Element));
      if constexpr (has_row_scale<Element>) {
        std::memcpy(part.scales.data() + at.scale, static_cast<const std::byte*>(scales) + done * sizeof(float),
                    rows * sizeof(float));
      }
      done += rows;
    }
  }

  std::vector<Layer> layers_;
  std::vector<Place> blocks_;  // of every layer, after each other
  Part keys_, values_;
};

}  // namespace tulle
