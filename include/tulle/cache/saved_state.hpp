// SPDX-License-Identifier: Apache-2.0
/// \file The bytes of a saved sequence, the same from every layout (L2).
#pragma once

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

/// All numbers are little-endian. The rows follow: for each layer, keys then values, for each of them and each head,
/// the elements [row][head_dim], then, for int8, the scales [row] as float. Rows are those of the positions [0,
/// prefix), then [begin, length); in a state that lacks nothing, prefix and begin are equal.
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
    header.layers = static_cast<std::uint32_t>(shape.layers);
    header.kv_heads = static_cast<std::uint32_t>(shape.kv_heads);
    header.head_dim = static_cast<std::uint32_t>(shape.head_dim);
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

/// Appends what a query at the last position of a sequence sees. Errors: those of the vector, which then is as it was.
template <class Cache>
void save_state(const Cache& cache, SequenceId sequence, std::vector<std::byte>& saved) {
  using Element = typename Cache::Element;
  const CacheShape shape = cache.shape();
  SavedStateHeader header = SavedStateHeader::of<Element>(shape);
  header.length = cache.length(sequence);
  std::size_t rows = 0;
  const auto visit_all = [&](std::size_t layer, auto visit) {
    if (header.length != 0) cache.for_each_span(layer, sequence, header.length - 1, visit);
  };
  visit_all(0, [&, next = Position{0}](const KeyValueSpan<Element>& span) mutable {
    if (span.begin != next) {
      header.prefix = next;
      header.begin = span.begin;
    }
    next = span.begin + static_cast<Position>(span.count);
    rows += span.count;
  });

  const std::size_t head_bytes = rows * RowStore<Element>::row_bytes(shape.head_dim);
  const std::size_t start = saved.size();
  saved.resize(start + sizeof(header) + shape.layers * 2 * shape.kv_heads * head_bytes);
  std::memcpy(saved.data() + start, &header, sizeof(header));
  std::byte* out = saved.data() + start + sizeof(header);
  for (std::size_t layer = 0; layer < shape.layers; ++layer) {
    for (const bool values : {false, true}) {
      for (std::size_t head = 0; head < shape.kv_heads; ++head, out += head_bytes) {
        std::byte* elements = out;
        std::byte* scales = out + rows * shape.head_dim * sizeof(Element);
        visit_all(layer, [&](const KeyValueSpan<Element>& span) {
          const std::size_t bytes = span.count * shape.head_dim * sizeof(Element);
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
/// Lifetime: that of the bytes.
template <CacheElement Element>
class SavedState {
 public:
  /// Nothing when the bytes are not exactly one state of this kind. Needs: a shape that a `RowStore` accepted.
  static std::optional<SavedState> parse(std::span<const std::byte> bytes, const CacheShape& shape) noexcept {
    SavedState state;
    if (bytes.size() < sizeof(state.header_)) return std::nullopt;
    std::memcpy(&state.header_, bytes.data(), sizeof(state.header_));
    const SavedStateHeader& header = state.header_;
    if (!header.same_kind(SavedStateHeader::of<Element>(shape))) return std::nullopt;
    if (header.prefix > header.begin || header.begin > header.length) return std::nullopt;
    state.shape_ = shape;
    state.rows_ = header.prefix + (header.length - header.begin);
    state.data_ = bytes.data() + sizeof(header);
    const std::size_t size = bytes.size() - sizeof(header);
    const std::size_t position_bytes = shape.layers * 2 * shape.kv_heads * RowStore<Element>::row_bytes(shape.head_dim);
    if (size % position_bytes != 0 || size / position_bytes != state.rows_) return std::nullopt;
    return state;
  }

  Position length() const noexcept { return header_.length; }
  /// Positions [0, prefix) and [begin, length) are there; both are 0 when all are.
  Position prefix() const noexcept { return complete() ? 0 : header_.prefix; }
  Position begin() const noexcept { return complete() ? 0 : header_.begin; }
  bool complete() const noexcept { return header_.prefix == header_.begin; }

  /// Copies the positions [position, position + count), all there and in one piece, to the rows of a store from `row`
  /// on.
  void load(Position position, std::size_t count, RowStore<Element>& store, std::size_t row) const noexcept {
    const std::size_t first = position < header_.prefix ? position : header_.prefix + (position - header_.begin);
    const std::size_t elements_bytes = shape_.head_dim * sizeof(Element);
    const std::byte* head_data = data_;
    for (std::size_t layer = 0; layer < shape_.layers; ++layer) {
      for (EncodedRows<Element>* rows : {&store.keys(), &store.values()}) {
        for (std::size_t head = 0; head < shape_.kv_heads; ++head) {
          rows->load(store.index(layer, head, row), count, head_data + first * elements_bytes,
                     head_data + rows_ * elements_bytes + first * sizeof(float));
          head_data += rows_ * RowStore<Element>::row_bytes(shape_.head_dim);
        }
      }
    }
  }

 private:
  SavedState() = default;

  SavedStateHeader header_;
  CacheShape shape_;
  std::size_t rows_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace tulle
