// SPDX-License-Identifier: Apache-2.0
/// \file Which rows of a matrix lie together in a panel of ELL (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/types.hpp>

namespace tulle::detail {

/// The places of rows: 16 to a panel, each within the same 128 as in the matrix. (Among more, threads would often write to
/// the same cache lines.)
class EllRowOrder {
 public:
  static constexpr std::size_t group = 128;
  static constexpr bool moves_rows = !is_web;  ///< WebAssembly's modules stay small: there rows stay where they are

  /// The order of the matrix.
  EllRowOrder() = default;

  /// Of each group the longest row first, so that rows of one panel are about as long (SELL-C-sigma, Kreutzer et al. 2014,
  /// arXiv:1307.6209). Where lengths differ little more than those of random rows would, that spares no slots, and the
  /// order is that of the matrix: then outputs lie beside each other. `nonzeros` of each row; behind the last come rows
  /// up to `padded`. Errors: memory.
  EllRowOrder(std::span<const std::uint32_t> nonzeros, std::size_t columns, std::size_t padded) {
    if constexpr (moves_rows) move_rows(nonzeros, columns, padded);
  }

  bool is_that_of_matrix() const noexcept { return !moves_rows || moved_.size() == 0; }
  std::size_t size_bytes() const noexcept { return moved_.size_bytes(); }

  std::size_t row_at(std::size_t place) const noexcept {
    return is_that_of_matrix() ? place : in_group(place, moved_[place]);
  }
  std::size_t place_of(std::size_t row) const noexcept {
    return is_that_of_matrix() ? row : in_group(row, moved_[padded() + row]);
  }

  struct RowsOfPanel {
    std::size_t group;             ///< begins with this row
    const std::uint8_t* in_group;  ///< [16]
  };
  /// Of the panel that begins at a place. Requires: not the order of the matrix.
  RowsOfPanel rows_from(std::size_t place) const noexcept { return {place / group * group, moved_.data() + place}; }

  /// The places that rows of `range` may have.
  RowRange places_around(RowRange range) const noexcept {
    if (is_that_of_matrix()) return range;
    return {range.begin / group * group, std::min(round_up(range.end, group), padded())};
  }

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.moved_);
  }
  /// Whether every one of `padded` rows has a place within its group, and each place one row.
  bool is_sound(std::size_t padded) const noexcept {
    if (moved_.size() != 0 && moved_.size() != 2 * padded) return false;
    for (std::size_t row = 0; row < moved_.size() / 2; ++row) {
      const std::size_t place = place_of(row);
      if (place / group != row / group || place >= padded || row_at(place) != row) return false;
    }
    return true;
  }

 private:
  void move_rows(std::span<const std::uint32_t> nonzeros, std::size_t columns, std::size_t padded) {
    constexpr double uneven = 3;  // times the variance of random rows
    AlignedBuffer<std::uint8_t> moved(2 * padded, Pages::shared);
    double squares = 0, expected = 0;
    std::vector<std::uint8_t> order;
    for (std::size_t begin = 0; begin < padded; begin += group) {
      const std::size_t count = std::min(group, nonzeros.size() - begin);
      const std::span<const std::uint32_t> lengths = nonzeros.subspan(begin, count);
      const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0), mean = sum / static_cast<double>(count);
      for (const std::uint32_t length : lengths) squares += (length - mean) * (length - mean);
      expected += sum * (1 - mean / static_cast<double>(columns));
      order.resize(std::min(group, padded - begin));
      std::iota(order.begin(), order.end(), std::uint8_t{0});
      std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](std::uint8_t a, std::uint8_t b) { return lengths[a] > lengths[b]; });
      for (std::size_t i = 0; i < order.size(); ++i) {
        moved[begin + i] = order[i];
        moved[padded + begin + order[i]] = static_cast<std::uint8_t>(i);
      }
    }
    if (squares > uneven * expected) moved_ = std::move(moved);
  }

  static std::size_t in_group(std::size_t index, std::uint8_t moved) noexcept { return index / group * group + moved; }
  std::size_t padded() const noexcept { return moved_.size() / 2; }

  AlignedBuffer<std::uint8_t> moved_;  ///< [2][padded]: in its group, the row of each place, and the place of each row
};

}  // namespace tulle::detail
