// SPDX-License-Identifier: Apache-2.0
/// \file Panels of sliced ELL with windows: how unstructured sparse weights lie in memory (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>

namespace tulle::detail {

/// A panel of 16 rows is a sequence of steps. A step is 64 slots, 4 of each row, and all its columns lie in one window
/// that begins at a multiple of 8: so its activations are one or a few registers, and a byte shuffle brings each slot
/// its own. A slot is a value and the gap from the column of the row's slot before. A row whose next nonzero lies
/// beyond the window, or further than the largest gap, fills its slots with zeros (gap 0, or the largest gap). For each
/// step the advance of its window is stored, in units of 8 columns.
///
/// Bytes [bundle]: 64 gap codes [16 rows][4], those of step s in the bits from s * gap_bits on, then for each of its
/// steps 64 values [16 rows][4]. With 4-bit values a slot is one byte, value above and gap below, and a bundle one such
/// step.
///
/// `Window`: columns of the longest window, for AVX-512 with its one shuffle for all. AVX2 needs one for every 16
/// columns, so it has shorter windows: more slots and fewer instructions.
template <unsigned GapBits, std::size_t Window, bool Nibbles>
struct EllForm {
  static constexpr unsigned gap_bits = GapBits;
  static constexpr unsigned max_gap = (1u << GapBits) - 1;
  static constexpr std::size_t window = Window;
  static constexpr bool nibbles = Nibbles;
  static constexpr std::size_t steps = Nibbles ? 1 : 8 / GapBits;  ///< of a bundle
  static constexpr std::size_t bundle_bytes = Nibbles ? 64 : 64 * (1 + steps);
};

using EllNarrow = EllForm<2, 32, false>;  ///< for about 50 % sparsity: short gaps in few bits
using EllWide = EllForm<4, 64, false>;    ///< for high sparsity
using EllNibbles = EllForm<4, 64, true>;  ///< values of 4 bits

inline constexpr std::size_t window_step = 8;
inline constexpr std::size_t short_window = 32, middle_window = 48;
/// Columns that are encoded together: the sum of their products with 14-bit activations fits an int32.
inline constexpr std::size_t span_columns = 2048;
inline constexpr std::size_t row_slots = 4;

/// Row i is the low byte of 8 i columns, 64 times: subtracted from a column, it gives the place in a window or in a
/// block of it.
struct WindowBegins {
  /// The largest row index, relative to a window's first row, that a loop subtracts.
  static constexpr std::size_t beyond = 144 / window_step;
  alignas(64) std::uint8_t bytes[256 / window_step + beyond + 1][64];

  constexpr WindowBegins() : bytes() {
    for (std::size_t i = 0; i < std::size(bytes); ++i) {
      for (std::uint8_t& byte : bytes[i]) byte = static_cast<std::uint8_t>(i * window_step);
    }
  }
  /// The row of window `window`, which begins at column 8 * window; the rows of its 16-column blocks follow.
  const std::uint8_t (*from(std::size_t window) const noexcept)[64] { return bytes + window % (256 / window_step); }
};
inline constexpr WindowBegins window_begins{};

/// A panel, or a span of its columns, as `EllEncoder` makes it.
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

/// Sums of products of 16 rows by a few rows of activations: 128 times those of the codes' high bytes plus those of the
/// low ones. Both bytes have a bias of 64; subtracting it times the sum of the row's weights removes it. Unsigned
/// wrap-around is intended.
template <std::size_t Inputs>
using EllDots = std::int32_t[Inputs][panel_rows];

/// Encodes one panel after the other in the same memory. Not thread-safe: one for each thread.
class EllEncoder {
 public:
  /// `columns` codes of 16 rows that lie `stride` apart; at most 65534. With nibbles, codes lie in -8 ... 7. Windows
  /// have `window` columns.
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
      std::size_t first = columns;
      for (const Row& row : rows) first = std::min<std::size_t>(first, *row.next);
      if (first == columns && step % Form::steps == 0) break;  // the rest of a bundle stays filled with zeros
      if (step % Form::steps == 0) bytes_.resize(bytes_.size() + Form::bundle_bytes);
      const std::size_t advance = first == columns ? 0 : std::min<std::size_t>((first - begin) / window_step, 255);
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

  /// For every row the columns of its nonzeros, then `columns`. Without branches, which random zeros would mispredict.
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

  /// Fills the slots of a row in one step. A slot without use takes nothing, and so do those after it.
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

/// Whether the windows and slots of a piece of `columns` columns stay inside it.
template <class Form>
bool stays_inside(const EllPiece& piece, std::size_t columns) noexcept {
  std::size_t begin = 0;
  for (std::size_t step = 0; step < piece.bundles * Form::steps; ++step) begin += piece.advances[step] * window_step;
  if (begin != 0 && begin >= columns) return false;
  std::array<std::size_t, panel_rows> ends{};  // the slot of the greatest column is a row's last
  const std::uint8_t* bytes = piece.bytes;
  for (std::size_t bundle = 0; bundle < piece.bundles; ++bundle, bytes += Form::bundle_bytes) {
    for (std::size_t slot = 0; slot < panel_rows * row_slots; ++slot) {
      for (std::size_t step = 0; step < Form::steps; ++step) {
        ends[slot / row_slots] += bytes[slot] >> step * Form::gap_bits & Form::max_gap;
      }
    }
  }
  return std::all_of(ends.begin(), ends.end(), [&](std::size_t end) { return end < columns; });
}

/// The same of all pieces of a matrix of `columns` columns, `spans` in a panel. bundles [pieces + 1].
template <class Form>
bool are_sound_pieces(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> advances,
                      std::span<const std::size_t> bundles, std::size_t spans, std::size_t columns) noexcept {
  const std::size_t all = bundles.back();
  if (bundles[0] != 0 || all > bytes.size() || bytes.size() != all * Form::bundle_bytes ||
      advances.size() != all * Form::steps) {
    return false;
  }
  for (std::size_t index = 0; index + 1 < bundles.size(); ++index) {
    const std::size_t begin = bundles[index], end = bundles[index + 1], first = index % spans * span_columns;
    if (begin > end || end > all) return false;
    const EllPiece piece{bytes.data() + begin * Form::bundle_bytes, advances.data() + begin * Form::steps, end - begin};
    if (!stays_inside<Form>(piece, std::min(span_columns, columns - first))) return false;
  }
  return true;
}

}  // namespace tulle::detail
