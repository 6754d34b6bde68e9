// SPDX-License-Identifier: Apache-2.0
/// \file Which rows of a tensor, in which order, as data (L1).
#pragma once

#include <algorithm>
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
  /// Two nested loops whose rows come behind those of every step of the outermost axis. In step i they begin at row
  /// first + i * stride.
  struct Tail {
    std::size_t first = 0, stride = 0;
    std::array<Axis, 2> axes{{{0, 0}, {1, 0}}};

    bool operator==(const Tail&) const = default;
  };

  std::size_t first = 0;
  std::array<Axis, 3> axes{{{0, 0}, {1, 0}, {1, 0}}};
  Tail tail{};

  bool operator==(const RowOrder&) const = default;

  bool as_it_lies() const noexcept { return rows() == 0; }
  std::size_t rows() const noexcept { return axes[0].count * (body_rows() + tail_rows()); }

  /// Where row `row` of the order lies in the tensor.
  std::size_t operator[](std::size_t row) const noexcept {
    const std::size_t in_step = body_rows() + tail_rows(), step = row / in_step, rest = row % in_step;
    if (rest < body_rows()) return first + step * axes[0].stride + nested(rest, axes[1], axes[2]);
    return tail.first + step * tail.stride + nested(rest - body_rows(), tail.axes[0], tail.axes[1]);
  }

  /// One past the last row of the tensor that is taken.
  std::size_t end() const noexcept {
    if (as_it_lies()) return 0;
    const auto last = [](const Axis& axis) { return (axis.count - 1) * axis.stride; };
    std::size_t end = 0;
    if (body_rows() != 0) end = first + last(axes[0]) + last(axes[1]) + last(axes[2]) + 1;
    if (tail_rows() == 0) return end;
    return std::max(end, tail.first + (axes[0].count - 1) * tail.stride + last(tail.axes[0]) + last(tail.axes[1]) + 1);
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

  /// Rows that lie as all queries, all keys, all values, in the order of `blocks` blocks, each of `query` rows of
  /// queries, then `key` rows of keys, then as many of values.
  static constexpr RowOrder blocks_of_stacked(std::size_t blocks, std::size_t query, std::size_t key) noexcept {
    return {0, {{{blocks, query}, {query, 1}, {1, 0}}}, {blocks * query, key, {{{2, blocks * key}, {key, 1}}}}};
  }

 private:
  std::size_t body_rows() const noexcept { return axes[1].count * axes[2].count; }
  std::size_t tail_rows() const noexcept { return tail.axes[0].count * tail.axes[1].count; }
  static std::size_t nested(std::size_t row, const Axis& outer, const Axis& inner) noexcept {
    return row / inner.count * outer.stride + row % inner.count * inner.stride;
  }
};

}  // namespace tulle
