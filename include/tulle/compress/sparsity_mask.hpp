// SPDX-License-Identifier: Apache-2.0
/// \file Which weights stay: the largest of a matrix, of each row, or of each group of columns (L5).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>

namespace tulle {

/// 1 for a weight that stays, 0 for one that becomes zero [rows, columns].
using Mask = MatrixView<std::uint8_t>;

namespace detail {

/// Keys of absolute values that are ordered as they are. NaN is the largest.
template <class T>
auto magnitude_key(T value) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return static_cast<Bits>(std::bit_cast<Bits>(value) & (~Bits{0} >> 1));
}

/// Marks the `keep` values of largest magnitude in `values`; of equal ones those that come first.
template <class T>
void keep_largest(std::span<const T> values, std::size_t keep, std::uint8_t* mask) {
  keep = std::min(keep, values.size());
  std::fill_n(mask, values.size(), std::uint8_t{0});
  if (keep == 0) return;
  std::vector<decltype(magnitude_key(T{}))> candidates;  // values among which the threshold is
  std::size_t above = 0;                                 // values that are larger than all of these
  if (values.size() < 65536) {
    for (const T value : values) candidates.push_back(magnitude_key(value));
  } else {  // the upper 16 bits of the keys find the candidates
    constexpr int shift = 8 * sizeof(T) - 16;
    std::vector<std::uint32_t> bins(std::size_t{1} << 15, 0);
    for (const T value : values) ++bins[static_cast<std::size_t>(magnitude_key(value) >> shift)];
    std::size_t bin = bins.size() - 1;
    for (; above + bins[bin] < keep; --bin) above += bins[bin];
    candidates.reserve(bins[bin]);
    for (const T value : values) {
      if (magnitude_key(value) >> shift == bin) candidates.push_back(magnitude_key(value));
    }
  }
  const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(keep - above - 1);
  std::nth_element(candidates.begin(), last, candidates.end(), std::greater<>());
  const auto threshold = *last;
  std::size_t equal = keep;  // of them, those that are not above the threshold
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool larger = magnitude_key(values[i]) > threshold;
    mask[i] = larger ? 1 : 0;
    equal -= larger ? 1 : 0;
  }
  for (std::size_t i = 0; equal != 0; ++i) {
    if (magnitude_key(values[i]) != threshold) continue;
    mask[i] = 1;
    --equal;
  }
}

/// Keeps `keep` of `of` values: a value's rank is how many are larger, or equal and before.
template <class T>
void keep_of_group(const T* magnitudes, std::size_t keep, std::size_t of, std::uint8_t* mask) noexcept {
  for (std::size_t i = 0; i < of; ++i) {
    std::size_t rank = 0;
    for (std::size_t j = 0; j < of; ++j)
      rank += magnitudes[j] > magnitudes[i] || (magnitudes[j] == magnitudes[i] && j < i);
    mask[i] = rank < keep ? 1 : 0;
  }
}

/// The same of every `Of` columns of a row, by loops of fixed length, which the compiler vectorizes: ranks without equal
/// values, which are taken up only where too many would stay.
template <std::size_t Of, class T>
void keep_balanced_of(std::span<const T> row, std::size_t keep, std::uint8_t* mask) noexcept {
  using Rank = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  for (std::size_t begin = 0; begin < row.size(); begin += Of) {
    alignas(64) T magnitudes[Of];
    alignas(64) Rank ranks[Of] = {};
    for (std::size_t i = 0; i < Of; ++i) magnitudes[i] = std::abs(row[begin + i]);
    for (std::size_t j = 0; j < Of; ++j) {
      for (std::size_t i = 0; i < Of; ++i) ranks[i] += magnitudes[j] > magnitudes[i] ? 1 : 0;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < Of; ++i) {
      mask[begin + i] = ranks[i] < static_cast<Rank>(keep) ? 1 : 0;
      kept += mask[begin + i];
    }
    if (kept != keep) keep_of_group(magnitudes, keep, Of, mask + begin);
  }
}

/// Keeps `keep` of every `of` columns of a row, those of largest magnitude.
template <class T>
void keep_balanced(std::span<const T> row, std::size_t keep, std::size_t of, std::uint8_t* mask) noexcept {
  switch (of) {
    case 4: return keep_balanced_of<4>(row, keep, mask);
    case 8: return keep_balanced_of<8>(row, keep, mask);
    case 16: return keep_balanced_of<16>(row, keep, mask);
    case 32: return keep_balanced_of<32>(row, keep, mask);
    case 64: return keep_balanced_of<64>(row, keep, mask);
    default: break;
  }
  std::array<T, 64> magnitudes;
  for (std::size_t begin = 0; begin < row.size(); begin += of) {
    for (std::size_t i = 0; i < of; ++i) magnitudes[i] = std::abs(row[begin + i]);
    keep_of_group(magnitudes.data(), keep, of, mask + begin);
  }
}

/// Keeps the `keep` columns of every `of` with the largest sum of squares whose distances are at most `gap`, the first
/// one below it: the best of all such masks, by dynamic programming over (columns taken, the last one).
template <class T>
void keep_with_gaps(std::span<const T> row, std::size_t keep, std::size_t of, std::size_t gap,
                    std::uint8_t* mask) noexcept {
  constexpr T none = -1;
  std::array<std::array<T, 32>, 32> best;                 // [taken - 1][last]
  std::array<std::array<std::uint8_t, 32>, 32> previous;  // the one before the last
  for (std::size_t begin = 0; begin < row.size(); begin += of) {
    const auto score = [&](std::size_t i) { return row[begin + i] * row[begin + i]; };
    for (std::size_t last = 0; last < of; ++last) best[0][last] = last < gap ? score(last) : none;
    for (std::size_t taken = 1; taken < keep; ++taken) {
      for (std::size_t last = 0; last < of; ++last) {
        T most = none;
        std::size_t from = 0;
        for (std::size_t i = last < gap ? 0 : last - gap; i < last; ++i) {
          if (best[taken - 1][i] > most) most = best[taken - 1][from = i];
        }
        best[taken][last] = most < 0 ? none : most + score(last);
        previous[taken][last] = static_cast<std::uint8_t>(from);
      }
    }
    const auto& ends = best[keep - 1];
    std::size_t last = static_cast<std::size_t>(
        std::max_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(of)) - ends.begin());
    std::fill_n(mask + begin, of, std::uint8_t{0});
    for (std::size_t taken = keep; taken > 0; --taken) {
      mask[begin + last] = 1;
      if (taken > 1) last = previous[taken - 1][last];
    }
  }
}

}  // namespace detail

/// Errors: invalid_argument where a structure does not fit rows of `columns` weights.
inline void check_structure(const SparsityStructure& structure, std::size_t columns) {
  if (structure.kind != SparsityStructure::Kind::balanced) return;
  const bool possible = structure.keep > 0 && structure.keep <= structure.of && structure.of <= 64 &&
                        (structure.max_gap == 0 || structure.of <= 32);
  if (!possible) {
    fail(ErrorCode::invalid_argument, "the structure ", structure.keep, ":", structure.of,
         " is not possible; at most 64 columns a group, 32 with a limit on their distance");
  }
  if (columns % structure.of != 0) {
    fail(ErrorCode::invalid_argument, "rows of ", columns, " weights have no whole number of groups of ", structure.of,
         "; leave this layer out or choose another structure");
  }
}

/// Marks the values of largest magnitude as `structure` wants them; of equal ones those with lower indices.
/// `parts`: rows of the matrices that are stacked in `values`, each with a share of its own. `sparsity` counts where
/// the structure does not say it. Needs: `check_structure`.
template <class T>
void select_largest(MatrixView<const T> values, std::span<const std::size_t> parts, const SparsityStructure& structure,
                    double sparsity, ThreadPool& pool, Mask mask) {
  const auto kept = [&](std::size_t count) {
    return static_cast<std::size_t>(std::llround((1 - sparsity) * static_cast<double>(count)));
  };
  if (structure.kind == SparsityStructure::Kind::matrix) {
    std::size_t first = 0;
    for (const std::size_t rows : parts) {
      const std::size_t count = rows * values.columns;
      detail::keep_largest(std::span<const T>(values[first], count), kept(count), mask[first]);
      first += rows;
    }
    return;
  }
  for_row_blocks(pool, values.rows, block_of_rows, [&](RowRange range) {
    for (std::size_t row = range.begin; row < range.end; ++row) {
      const std::span<const T> of_row(values[row], values.columns);
      if (structure.kind == SparsityStructure::Kind::row) {
        detail::keep_largest(of_row, kept(values.columns), mask[row]);
      } else if (structure.max_gap != 0) {
        detail::keep_with_gaps(of_row, structure.keep, structure.of, structure.max_gap, mask[row]);
      } else {
        detail::keep_balanced(of_row, structure.keep, structure.of, mask[row]);
      }
    }
  });
}

}  // namespace tulle
