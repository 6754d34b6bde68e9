// SPDX-License-Identifier: Apache-2.0
/// \file The memory under every cache layout: encoded key and value rows by layer, head and row number (L2).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// A list of rows [dim] in one element type, with their scales beside them where the type has scales.
template <CacheElement Element>
class EncodedRows {
 public:
  EncodedRows() = default;
  EncodedRows(std::size_t rows, std::size_t dim)
      : elements_(rows * dim, Uninitialized{}),
        scales_(has_row_scale<Element> ? rows : 0, Uninitialized{}),
        dim_(dim) {}

  const Element* elements(std::size_t row) const noexcept { return elements_.data() + row * dim_; }
  const float* scales(std::size_t row) const noexcept {
    return has_row_scale<Element> ? scales_.data() + row : nullptr;
  }
  std::size_t size_bytes() const noexcept { return elements_.size_bytes() + scales_.size_bytes(); }

  void encode(std::size_t row, const float* source) noexcept {
    const float scale = encode_row(source, dim_, elements_.data() + row * dim_);
    if constexpr (has_row_scale<Element>) scales_[row] = scale;
  }

  /// Takes `count` rows that are encoded already; `elements` and `scales` need not be aligned and do not overlap these.
  void load(std::size_t row, std::size_t count, const void* elements, const void* scales) noexcept {
    std::memcpy(elements_.data() + row * dim_, elements, count * dim_ * sizeof(Element));
    if constexpr (has_row_scale<Element>) std::memcpy(scales_.data() + row, scales, count * sizeof(float));
  }

 private:
  AlignedBuffer<Element> elements_;
  AlignedBuffer<float> scales_;
  std::size_t dim_ = 0;
};

/// Keys and values [layer][kv_head][row][head_dim], apart. What position a row holds is the layout's affair.
/// The memory is not touched before rows are written.
template <CacheElement Element>
class RowStore {
 public:
  /// Of a row of one head in memory and in saved states, keys and values apart.
  static constexpr std::size_t row_bytes(std::size_t head_dim) noexcept {
    return head_dim * sizeof(Element) + (has_row_scale<Element> ? sizeof(float) : 0);
  }

  /// Bytes of keys and values of `rows` rows; a layout asks in its constructor what it will allocate later.
  /// Errors: invalid_argument when a number is zero or the bytes cannot be counted.
  static std::size_t checked_bytes(const CacheShape& shape, std::size_t rows) {
    std::size_t product = 2;
    for (const std::size_t factor : {shape.layers, shape.kv_heads, shape.head_dim, rows}) {
      if (factor == 0) {
        fail(ErrorCode::invalid_argument, "a cache of ", describe(shape, rows), ": each must be at least 1");
      }
      if (factor > std::numeric_limits<std::uint32_t>::max() || __builtin_mul_overflow(product, factor, &product)) {
        fail(ErrorCode::invalid_argument, "a cache of ", describe(shape, rows), " is too large");
      }
    }
    if (product > std::numeric_limits<std::size_t>::max() / 2 / row_bytes(1)) {  // half of all: room for alignment
      fail(ErrorCode::invalid_argument, "a cache of ", describe(shape, rows), " is too large");
    }
    return product / shape.head_dim * row_bytes(shape.head_dim);
  }

  RowStore() = default;

  /// Errors: as `checked_bytes`; memory when the system refuses.
  RowStore(const CacheShape& shape, std::size_t rows) : shape_(shape), rows_(rows) {
    const std::size_t all = checked_bytes(shape, rows) / row_bytes(shape.head_dim) / 2;
    keys_ = EncodedRows<Element>(all, shape.head_dim);
    values_ = EncodedRows<Element>(all, shape.head_dim);
  }

  bool empty() const noexcept { return keys_.size_bytes() == 0; }
  std::size_t size_bytes() const noexcept { return keys_.size_bytes() + values_.size_bytes(); }

  /// Shapes: key and value [kv_heads * head_dim].
  void write(std::size_t layer, std::size_t row, const float* key, const float* value) noexcept {
    for (std::size_t head = 0; head < shape_.kv_heads; ++head) {
      keys_.encode(index(layer, head, row), key + head * shape_.head_dim);
      values_.encode(index(layer, head, row), value + head * shape_.head_dim);
    }
  }

  /// Rows [row, row + count) of all heads of a layer, which hold the positions from `begin` on.
  KeyValueSpan<Element> span(std::size_t layer, std::size_t row, Position begin, std::size_t count) const noexcept {
    const std::size_t first = index(layer, 0, row);
    return {.begin = begin,
            .count = count,
            .keys = keys_.elements(first),
            .values = values_.elements(first),
            .key_scales = keys_.scales(first),
            .value_scales = values_.scales(first),
            .head_stride = rows_ * shape_.head_dim,
            .scale_stride = rows_};
  }

  /// Copies rows [from_row, from_row + count) of every layer and head to rows from `row` on, which are others.
  void copy(const RowStore& from, std::size_t from_row, std::size_t row, std::size_t count) noexcept {
    for (std::size_t layer = 0; layer < shape_.layers; ++layer) {
      for (std::size_t head = 0; head < shape_.kv_heads; ++head) {
        const std::size_t source = from.index(layer, head, from_row);
        const std::size_t target = index(layer, head, row);
        keys_.load(target, count, from.keys_.elements(source), from.keys_.scales(source));
        values_.load(target, count, from.values_.elements(source), from.values_.scales(source));
      }
    }
  }

  EncodedRows<Element>& keys() noexcept { return keys_; }
  EncodedRows<Element>& values() noexcept { return values_; }

  /// Of a row in `keys()` and `values()`.
  std::size_t index(std::size_t layer, std::size_t head, std::size_t row) const noexcept {
    assert(layer < shape_.layers && head < shape_.kv_heads && row < rows_);
    return (layer * shape_.kv_heads + head) * rows_ + row;
  }

 private:
  static std::string describe(const CacheShape& shape, std::size_t rows) {
    return std::to_string(shape.layers) + " layers, " + std::to_string(shape.kv_heads) + " heads, " +
           std::to_string(shape.head_dim) + " elements a head, " + std::to_string(rows) + " rows";
  }

  CacheShape shape_;
  std::size_t rows_ = 0;
  EncodedRows<Element> keys_;
  EncodedRows<Element> values_;
};

/// Checks how many sequences a layout is asked to hold. Errors: invalid_argument.
inline std::size_t checked_sequences(std::size_t sequences) {
  constexpr std::size_t most = 65536;
  if (sequences == 0 || sequences > most) {
    fail(ErrorCode::invalid_argument, "a cache holds 1 to ", most, " sequences, not ", sequences);
  }
  return sequences;
}

}  // namespace tulle
