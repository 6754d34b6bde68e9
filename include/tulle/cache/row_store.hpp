// SPDX-License-Identifier: Apache-2.0
/// \file The memory under every cache layout: encoded key and value rows by layer, head and row number (L2).
#pragma once

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

/// Keys and values [layer][kv_head][row][head_dim], apart, with the scales [layer][kv_head][row] of elements that have
/// scales. The layout decides which position a row holds. The memory is not touched before rows are written.
template <CacheElement Element>
class RowStore {
 public:
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
    std::size_t elements = 0, all_rows = 0;
    for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
      const auto& [kv_heads, head_dim, window] = shape.layers[layer];
      layers_.push_back({kv_heads, head_dim, rows[layer], elements, all_rows});
      elements += kv_heads * rows[layer] * head_dim;
      all_rows += kv_heads * rows[layer];
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
      keys_.encode(of, head, row, key + head * of.head_dim);
      values_.encode(of, head, row, value + head * of.head_dim);
    }
  }

  /// Rows [row, row + count) of all heads of a layer, which hold the positions from `begin` on.
  KeyValueSpan<Element> span(std::size_t layer, std::size_t row, Position begin, std::size_t count) const noexcept {
    const Layer& of = layers_[layer];
    return {.begin = begin,
            .count = count,
            .keys = keys_.elements.data() + of.element(0, row),
            .values = values_.elements.data() + of.element(0, row),
            .key_scales = keys_.scales_at(of, 0, row),
            .value_scales = values_.scales_at(of, 0, row),
            .head_stride = of.rows * of.head_dim,
            .scale_stride = of.rows,
            .window = {}};
  }

  /// Copies rows [from_row, from_row + count) of every head of a layer to rows from `row` on, which are others.
  void copy_layer(std::size_t layer, const RowStore& from, std::size_t from_row, std::size_t row,
                  std::size_t count) noexcept {
    const Layer &source = from.layers_[layer], &target = layers_[layer];
    for (std::size_t head = 0; head < target.kv_heads; ++head) {
      keys_.load(target, head, row, count, from.keys_.elements.data() + source.element(head, from_row),
                 from.keys_.scales_at(source, head, from_row));
      values_.load(target, head, row, count, from.values_.elements.data() + source.element(head, from_row),
                   from.values_.scales_at(source, head, from_row));
    }
  }

  /// Copies the same rows of every layer.
  void copy(const RowStore& from, std::size_t from_row, std::size_t row, std::size_t count) noexcept {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) copy_layer(layer, from, from_row, row, count);
  }

  /// Takes `count` rows of one head that are encoded already. `elements` and `scales` need not be aligned.
  void load_keys(std::size_t layer, std::size_t head, std::size_t row, std::size_t count, const void* elements,
                 const void* scales) noexcept {
    keys_.load(layers_[layer], head, row, count, elements, scales);
  }
  void load_values(std::size_t layer, std::size_t head, std::size_t row, std::size_t count, const void* elements,
                   const void* scales) noexcept {
    values_.load(layers_[layer], head, row, count, elements, scales);
  }

 private:
  struct Layer {
    std::size_t kv_heads, head_dim, rows;
    std::size_t first_element, first_scale;  ///< of the layer in the buffers

    std::size_t element(std::size_t head, std::size_t row) const noexcept {
      assert(head < kv_heads && row < rows);
      return first_element + (head * rows + row) * head_dim;
    }
    std::size_t scale(std::size_t head, std::size_t row) const noexcept { return first_scale + head * rows + row; }
  };

  /// The keys or the values.
  struct Part {
    AlignedBuffer<Element> elements;
    AlignedBuffer<float> scales;

    Part() = default;
    Part(std::size_t all_elements, std::size_t rows)
        : elements(all_elements, Uninitialized{}), scales(has_row_scale<Element> ? rows : 0, Uninitialized{}) {}

    std::size_t size_bytes() const noexcept { return elements.size_bytes() + scales.size_bytes(); }
    const float* scales_at(const Layer& of, std::size_t head, std::size_t row) const noexcept {
      return has_row_scale<Element> ? scales.data() + of.scale(head, row) : nullptr;
    }
    void encode(const Layer& of, std::size_t head, std::size_t row, const float* from) noexcept {
      const float scale = encode_row(from, of.head_dim, elements.data() + of.element(head, row));
      if constexpr (has_row_scale<Element>) scales[of.scale(head, row)] = scale;
    }
    void load(const Layer& of, std::size_t head, std::size_t row, std::size_t count, const void* from,
              const void* from_scales) noexcept {
      std::memcpy(elements.data() + of.element(head, row), from, count * of.head_dim * sizeof(Element));
      if constexpr (has_row_scale<Element>) {
        std::memcpy(scales.data() + of.scale(head, row), from_scales, count * sizeof(float));
      }
    }
  };

  std::vector<Layer> layers_;
  Part keys_, values_;
};

}  // namespace tulle
