// SPDX-License-Identifier: Apache-2.0
/// \file Which rows of a tensor, in which order, as data (L1).
#pragma once

#include <array>
#include <cstddef>

namespace tulle {

/// One of the nested loops of a `RowOrder`: `count` steps that lie `stride` rows apart.
struct Axis {
  std::size_t count = 1, stride = 0;

  bool operator==(const Axis&) const = default;
};

/// Rows of a tensor in the order of three nested loops, the outermost axis first. With no row at all (the default) it
/// stands for all rows as they lie.
struct RowOrder {
  std::size_t first = 0;
  std::array<Axis, 3> axes{{{0, 0}, {1, 0}, {1, 0}}};

  bool operator==(const RowOrder&) const = default;

  bool as_it_lies() const noexcept { return rows() == 0; }
  std::size_t rows() const noexcept { return axes[0].count * axes[1].count * axes[2].count; }

  /// Where row `row` of the order lies in the tensor.
  std::size_t operator[](std::size_t row) const noexcept {
    const std::size_t inner = row % axes[2].count, rest = row / axes[2].count;
    return first + rest / axes[1].count * axes[0].stride + rest % axes[1].count * axes[1].stride +
           inner * axes[2].stride;
  }

  /// One past the last row of the tensor that is taken.
  std::size_t end() const noexcept {
    std::size_t last = first;
    for (const Axis& axis : axes) last += (axis.count == 0 ? 0 : axis.count - 1) * axis.stride;
    return as_it_lies() ? 0 : last + 1;
  }

  /// Heads whose rows lie as adjacent rotary pairs, in the order of halves: row i * dimension / 2 + j of a head lies at
  /// 2 j + i.
  static constexpr RowOrder halves_of_pairs(std::size_t heads, std::size_t dimension) noexcept {
    return {0, {{{heads, dimension}, {2, 1}, {dimension / 2, 2}}}};
  }

  /// `count` rows from `begin` on in each of `blocks` blocks that lie `stride` rows apart.
  static constexpr RowOrder of_blocks(std::size_t blocks, std::size_t stride, std::size_t begin,
                                      std::size_t count) noexcept {
    return {begin, {{{blocks, stride}, {count, 1}, {1, 0}}}};
  }
};

}  // namespace tulle
