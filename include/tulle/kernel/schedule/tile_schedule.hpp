// SPDX-License-Identifier: Apache-2.0
/// \file How a product Y = X W^T is cut into tiles: a few panels of W by 1, 2, 4 or 8 rows of X (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <tulle/core/types.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/tensor/machine.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle {

/// The panels that a loop multiplies at once by one row of activations, on machines that read one, two or four memory
/// streams fastest: 1, 2 or 4, but no fewer than it needs to keep busy while a step waits for the one before, and no
/// more than the registers hold.
using StreamCounts = std::array<std::size_t, 3>;

/// Activations are stored in tiles of this many rows, interleaved, so that one tile is read front to back.
inline constexpr std::size_t tile_inputs = 8;

/// Consecutive rows of activations that one inner loop multiplies together.
struct InputTile {
  std::size_t first = 0;   ///< index of its first row
  std::size_t inputs = 0;  ///< how many rows are real; the others of `width` are zero
  std::size_t width = 1;   ///< 1, 2, 4 or 8
};

/// The tile that holds row `first` (a multiple of 8) when there are `inputs` rows in all.
constexpr InputTile input_tile(std::size_t first, std::size_t inputs) noexcept {
  const std::size_t rest = std::min(inputs - first, tile_inputs);
  const std::size_t width = rest > 4 ? 8 : rest > 2 ? 4 : rest;
  return {first, rest, width};
}

namespace detail {

/// How many rows of a panel lie inside `rows`: the rest is padding.
constexpr std::size_t real_rows(std::size_t panel, RowRange rows) noexcept {
  return std::min(panel_rows, rows.end - panel * panel_rows);
}

/// The first `rows` of a panel's 16 values. Four of them are moved in a register, also where code is compiled for size;
/// a call of memcpy would cost a tenth of a short matrix row.
inline void copy_panel(const float* from, std::size_t rows, float* to) noexcept {
  if (rows < panel_rows) {
    std::memcpy(to, from, rows * sizeof(float));
    return;
  }
  constexpr std::size_t four = 4 * sizeof(float);
  static_assert(panel_rows * sizeof(float) == 4 * four);
  std::memcpy(to, from, four);
  std::memcpy(to + 4, from + 4, four);
  std::memcpy(to + 8, from + 8, four);
  std::memcpy(to + 12, from + 12, four);
}

/// Reads the outputs of a panel and one row from y. values [16]; those of padding rows and of rows outside the range
/// are left alone.
inline void load_panel(MatrixView<float> y, RowRange rows, std::size_t panel, std::size_t input,
                       float* values) noexcept {
  copy_panel(y[input] + panel * panel_rows, real_rows(panel, rows), values);
}

/// Writes the outputs of a panel and one row to y, without padding rows and rows outside the range. values [16].
inline void store_panel(MatrixView<float> y, RowRange rows, std::size_t panel, std::size_t input,
                        const float* values) noexcept {
  copy_panel(values, real_rows(panel, rows), y[input] + panel * panel_rows);
}

#if defined(TULLE_X86)

/// Values [panels][lanes from `lane0` on][2 halves of 8 rows] of panels which[0], which[1], ... Padding rows, rows
/// outside of `rows`, and lanes beyond those of the tile are not written.
template <std::size_t Panels, std::size_t Lanes>
TULLE_INLINE_AVX2 void store_tile(const __m256 (&values)[Panels][Lanes][2], const std::size_t* which,
                                  const InputTile& tile, std::size_t lane0, MatrixView<float> y,
                                  RowRange rows) noexcept {
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      if (lane0 + lane >= tile.inputs) continue;
      alignas(32) float out[panel_rows];
      _mm256_store_ps(out, values[p][lane][0]);
      _mm256_store_ps(out + 8, values[p][lane][1]);
      store_panel(y, rows, which[p], tile.first + lane0 + lane, out);
    }
  }
}

/// The rows of a panel that are written.
TULLE_INLINE_AVX512 __mmask16 real_row_mask(std::size_t panel, RowRange rows) noexcept {
  return static_cast<__mmask16>((1u << real_rows(panel, rows)) - 1);
}

/// The same with values [panels][lanes] of 16 rows.
template <std::size_t Panels, std::size_t Lanes>
TULLE_INLINE_AVX512 void store_tile(const __m512 (&values)[Panels][Lanes], const std::size_t* which,
                                    const InputTile& tile, MatrixView<float> y, RowRange rows) noexcept {
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
    const __mmask16 real = real_row_mask(which[p], rows);
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      if (lane >= tile.inputs) continue;
      _mm512_mask_storeu_ps(y[tile.first + lane] + which[p] * panel_rows, real, values[p][lane]);
    }
  }
}

#endif

/// Prefetches the outputs of a panel and the rows `first` ... `end - 1`: they lie far apart in y, at no stride that the
/// hardware prefetchers follow.
inline void prefetch_outputs([[maybe_unused]] MatrixView<float> y, [[maybe_unused]] std::size_t panel,
                             [[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t end) noexcept {
#if defined(TULLE_X86)
  for (std::size_t input = first; input < end; ++input) __builtin_prefetch(y[input] + panel * panel_rows, 1);
#endif
}

/// Calls `each` with one panel out of each of `Streams` equal parts of [first, last), until every panel was in a call.
/// The panels of a call lie far apart: each is a memory stream of its own. At the end, where panels are missing, the
/// last one is repeated.
template <std::size_t Streams, class Each>
void for_each_in_streams(std::size_t first, std::size_t last, const Each& each) noexcept {
  const std::size_t part = (last - first) / Streams;
  std::array<std::size_t, Streams> panels{};
  for (std::size_t panel = first; panel < first + part; ++panel) {
    for (std::size_t i = 0; i < Streams; ++i) panels[i] = panel + i * part;
    each(panels);
  }
  if (first + part * Streams < last) {
    for (std::size_t i = 0; i < Streams; ++i) panels[i] = std::min(first + part * Streams + i, last - 1);
    each(panels);
  }
}

}  // namespace detail

/// Runs `loop.template run<Panels, Inputs>(panels, tile)` over the panels of `rows` and the tiles of all `inputs` rows
/// of X. One row reads several panels as separate memory streams, as many as `Loop::streams_one_row` says for this
/// machine; several rows read 2. Tiles are the inner loop: a panel comes from main memory once and from the cache for
/// every further tile. Where panels are missing at the end the last one is computed again, which writes the same values
/// once more, so a loop that adds to y instead must leave repeated panels out.
template <class Loop>
void for_each_tile(const Loop& loop, std::size_t inputs, RowRange rows) noexcept {
  if (rows.begin >= rows.end) return;  // a worker without a share; its range may begin at the end, inside a panel
  const std::size_t first = rows.begin / panel_rows;
  const std::size_t last = (rows.end + panel_rows - 1) / panel_rows;
  const auto one_row = [&]<std::size_t Panels>(const std::array<std::size_t, Panels>& panels) {
    loop.template run<Panels, 1>(panels.data(), input_tile(0, 1));
  };
  if (inputs == 1) {
    constexpr StreamCounts streams = Loop::streams_one_row;
    switch (this_machine.streams) {
      case Streams::one: return detail::for_each_in_streams<streams[0]>(first, last, one_row);
      case Streams::two: return detail::for_each_in_streams<streams[1]>(first, last, one_row);
      default: return detail::for_each_in_streams<streams[2]>(first, last, one_row);
    }
  }
  detail::for_each_in_streams<2>(first, last, [&](const std::array<std::size_t, 2>& panels) {
    for (std::size_t input = 0; input < inputs; input += tile_inputs) {
      const InputTile tile = input_tile(input, inputs);
      const std::size_t next = input + tile.inputs, next_end = std::min(next + tile_inputs, inputs);
      for (const std::size_t panel : panels) detail::prefetch_outputs(loop.y, panel, next, next_end);
      switch (tile.width) {
        case 1: loop.template run<2, 1>(panels.data(), tile); break;
        case 2: loop.template run<2, 2>(panels.data(), tile); break;
        case 4: loop.template run<2, 4>(panels.data(), tile); break;
        default: loop.template run<2, 8>(panels.data(), tile); break;
      }
    }
  });
}

}  // namespace tulle
