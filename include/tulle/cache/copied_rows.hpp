// SPDX-License-Identifier: Apache-2.0
/// \file Rows of one cache in another, whatever their layouts and elements are (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/half.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

namespace detail {

/// Row `row` of all heads of a span as floats. Shapes: out [kv_heads * head_dim].
template <class Element>
void decode_rows(const LayerShape& shape, const KeyValueSpan<Element>& span, const Element* elements,
                 const float* scales, std::size_t row, float* out) noexcept {
  for (std::size_t head = 0; head < shape.kv_heads; ++head) {
    const Element* from = elements + head * span.head_stride + row * shape.head_dim;
    const float scale = scales == nullptr ? 1.0f : scales[head * span.scale_stride + row];
    for (std::size_t i = 0; i < shape.head_dim; ++i) {
      if constexpr (std::is_same_v<Element, Half>) {
        *out++ = to_float(from[i]);
      } else {
        *out++ = scale * static_cast<float>(from[i]);
      }
    }
  }
}

}  // namespace detail

/// Makes sequence `target` of `to` hold the positions up to `end`: what it lacks are the rows of `source` in `from`, as
/// floats, rounded as `append` rounds. False, with nothing changed, where the shapes differ, `from` does not have the
/// rows of each layer (any more), or `to` has no room for them at once. Errors: memory.
template <CacheLayout From, CacheLayout To>
bool copy_rows(const From& from, SequenceId source, To& to, SequenceId target, Position end) {
  const Position begin = to.length(target);
  if (begin >= end) return true;
  if (from.shape().layers != to.shape().layers || from.length(source) < end) return false;
  const Visible wanted{begin, end};
  const std::vector<LayerShape>& layers = from.shape().layers;
  std::size_t widest = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    Position found = 0;
    from.for_each_span(layer, source, wanted, [&](const auto& span) { found += static_cast<Position>(span.count); });
    if (found != end - begin) return false;
    widest = std::max(widest, layers[layer].row_elements());
  }
  std::vector<float> key(widest), value(widest);
  if (!to.extend(target, end)) return false;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    from.for_each_span(layer, source, wanted, [&](const auto& span) {
      for (std::size_t row = 0; row < span.count; ++row) {
        detail::decode_rows(layers[layer], span, span.keys, span.key_scales, row, key.data());
        detail::decode_rows(layers[layer], span, span.values, span.value_scales, row, value.data());
        to.append(layer, target, span.begin + static_cast<Position>(row), key.data(), value.data());
      }
    });
  }
  return true;
}

}  // namespace tulle
