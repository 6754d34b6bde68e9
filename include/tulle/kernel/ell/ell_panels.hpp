// SPDX-License-Identifier: Apache-2.0
/// \file Windowed ELL: where the nonzeros of unstructured sparse weights lie in memory (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>

namespace tulle::detail {

/// A panel of 16 rows is a sequence of steps. A step is 64 slots, 4 of each row, and all its columns lie in one window that
/// begins at a multiple of 8: so the activations it needs are one or a few registers, and a slot finds its own by a byte
/// shuffle. A slot is a value and the gap from the column of the row's slot before. A row whose next nonzero lies beyond
/// the window, or further away than a gap can say, fills its slots with zeros (gap 0, or the largest gap).
/// Windows move on by a number of 8 columns that is stored for each step.
///
/// Bytes [bundle]: 64 gap codes [16 rows][4], those of step s in the bits from s * gap_bits on, then for each of its steps
/// 64 values [16 rows][4]. With 4-bit values a slot is one byte, value above and gap below, and a bundle one such step.
///
/// `Window`: the columns of the longest, which suits AVX-512: one shuffle for all. AVX2 has one for every 16 columns, and shorter
/// windows, which want more slots and fewer instructions.
template <unsigned GapBits, std::size_t Window, bool Nibbles>
struct EllForm {
  static constexpr unsigned gap_bits = GapBits;
  static constexpr unsigned max_gap = (1u << GapBits) - 1;
  static constexpr std::size_t window = Window;
  static constexpr bool nibbles = Nibbles;
  static constexpr std::size_t steps = Nibbles ? 1 : 8 / GapBits;  ///< of a bundle
  static constexpr std::size_t bundle_bytes = Nibbles ? 64 : 64 * (1 + steps);
};

using EllNarrow = EllForm<2, 32, false>;  ///< for about half of the weights: few bits for gaps that are short
using EllWide = EllForm<4, 64, false>;    ///< for few weights
using EllNibbles = EllForm<4, 64, true>;  ///< values of 4 bits

inline constexpr std::size_t window_step = 8;
inline constexpr std::size_t short_window = 32, middle_window = 48;
/// Columns that are encoded together: the sum of their products with 14-bit activations fits an int32.
inline constexpr std::size_t span_columns = 2048;
inline constexpr std::size_t row_slots = 4;

/// Row i is the low byte of 8 i columns, 64 times: what is taken off a column to find it in a window, or in one of its blocks.
struct WindowBegins {
  static constexpr std::size_t beyond =
      144 / window_step;  ///< the furthest row behind a window's own that loops take off
  alignas(64) std::uint8_t bytes[256 / window_step + beyond + 1][64];

  constexpr WindowBegins() : bytes() {
    for (std::size_t i = 0; i < std::size(bytes); ++i) {
      for (std::uint8_t& byte : bytes[i]) byte = static_cast<std::uint8_t>(i * window_step);
    }
  }
  /// The row of a window that begins at 8 times its number; those of its blocks follow.
  const std::uint8_t (*from(std::size_t window) const noexcept)[64] { return bytes + window % (256 / window_step); }
};
inline constexpr WindowBegins window_begins{};

/// What `EllEncoder` makes of a panel, or of a span of its columns.
struct EllPanel {
  std::vector<std::uint8_t> bytes;     ///< whole bundles
  std::vector<std::uint8_t> advances;  ///< of the window before each step, in 8 columns
};

/// A span of a panel, as loops read it.
struct EllPiece {
  const std::uint8_t* bytes;
  const std::uint8_t* advances;
  std::size_t bundles;
};

template <class Form>
__attribute__((always_inline)) inline void prefetch_bundle(const std::uint8_t* bundle,
                                                           const std::uint8_t* advance) noexcept {
  prefetch_stream<Form::bundle_bytes, false>(bundle);
  __builtin_prefetch(advance + 128);
}

/// Sums of products of 16 rows with a few inputs: 128 times those of the codes' high bytes plus those of the low ones, which hold
/// 64 too much each. What wraps around, the sums of the weights bring back.
template <std::size_t Inputs>
using EllDots = std::int32_t[Inputs][panel_rows];

/// Encodes one panel after the other in the same memory. Not thread-safe: one for each thread.
class EllEncoder {
 public:
  /// `columns` codes of 16 rows that lie `stride` apart; at most 65534. With nibbles, codes lie in -8 ... 7. Windows have
  /// `window` columns.
  template <class Form>
  EllPanel encode(const std::int8_t* codes, std::size_t stride, std::size_t columns, std::size_t window) {
    list_nonzeros(codes, stride, columns);
    std::array<Row, panel_rows> rows;
    for (std::size_t row = 0; row < panel_rows; ++row) {
      rows[row] = {&places_[row * (columns + 1)], codes + row * stride, 0};
    }
    bytes_.clear();
    advances_.clear();
    std::size_t begin = 0;  // of the window
    for (std::size_t step = 0;; ++step) {
      std::size_t least = columns;
      for (const Row& row : rows) least = std::min<std::size_t>(least, *row.next);
      if (least == columns && step % Form::steps == 0) break;  // what is left of a bundle stays filled with zeros
      if (step % Form::steps == 0) bytes_.resize(bytes_.size() + Form::bundle_bytes);
      const std::size_t advance = least == columns ? 0 : std::min<std::size_t>((least - begin) / window_step, 255);
      advances_.push_back(static_cast<std::uint8_t>(advance));
      begin += advance * window_step;
      std::uint8_t* slots = &bytes_[bytes_.size() - Form::bundle_bytes];
      for (Row& row : rows) {
        fill<Form>(row, slots, step % Form::steps, begin + window, columns);
        slots += row_slots;
      }
    }
    return {{bytes_.begin(), bytes_.end()}, {advances_.begin(), advances_.end()}};
  }

 private:
  struct Row {
    const std::uint16_t* next;  // the column of the next nonzero, or `columns`
    const std::int8_t* codes;
    std::uint32_t position;  // the column of the slot before
  };

  /// For every row the columns of its nonzeros, then `columns`. Without branches, which random zeros would mislead.
  void list_nonzeros(const std::int8_t* codes, std::size_t stride, std::size_t columns) {
    places_.resize(panel_rows * (columns + 1));
    for (std::size_t row = 0; row < panel_rows; ++row) {
      std::uint16_t* next = &places_[row * (columns + 1)];
      for (std::size_t column = 0; column < columns; ++column) {
        *next = static_cast<std::uint16_t>(column);
        next += codes[row * stride + column] != 0;
      }
      *next = static_cast<std::uint16_t>(columns);
    }
  }

  /// The slots of a row in one step. `row` and `slots` are those of the row; a slot without use takes nothing, and so
  /// do those after it.
  template <class Form>
  static void fill(Row& row, std::uint8_t* slots, std::size_t step, std::size_t window_end,
                   std::size_t columns) noexcept {
    Row at = row;
    for (std::size_t slot = 0; slot < row_slots; ++slot) {
      const std::uint32_t column = *at.next, gap = column - at.position;
      const bool in_reach = gap <= Form::max_gap;
      const bool used = column < columns && (!in_reach || column < window_end);
      const std::uint32_t code = used ? std::min(gap, Form::max_gap) : 0;
      const bool has_value = used && in_reach;
      const unsigned value = static_cast<std::uint8_t>(at.codes[has_value ? column : 0]) & (has_value ? 255u : 0u);
      if constexpr (Form::nibbles) {
        slots[slot] = static_cast<std::uint8_t>(value << 4 | code);
      } else {
        slots[slot] = static_cast<std::uint8_t>(slots[slot] | code << step * Form::gap_bits);
        slots[64 * (1 + step) + slot] = static_cast<std::uint8_t>(value);
      }
      at.position += code;
      at.next += has_value;
    }
    row = at;
  }

  std::vector<std::uint16_t> places_;  // [16][columns + 1]
  std::vector<std::uint8_t> bytes_, advances_;
};

/// Calls visit(row, column, value) for every slot that holds a value. With nibbles, values are 16 times their codes.
template <class Form, class Visitor>
void for_each_ell_value(const std::uint8_t* bytes, std::size_t bundles, Visitor&& visit) {
  std::array<std::size_t, panel_rows> position{};
  for (std::size_t bundle = 0; bundle < bundles; ++bundle, bytes += Form::bundle_bytes) {
    for (std::size_t step = 0; step < Form::steps; ++step) {
      for (std::size_t slot = 0; slot < panel_rows * row_slots; ++slot) {
        std::size_t& column = position[slot / row_slots];
        column += bytes[slot] >> step * Form::gap_bits & Form::max_gap;
        const auto value = Form::nibbles ? static_cast<std::int8_t>(bytes[slot] & 0xF0)
                                         : static_cast<std::int8_t>(bytes[64 * (1 + step) + slot]);
        if (value != 0) visit(slot / row_slots, column, value);
      }
    }
  }
}

}  // namespace tulle::detail
