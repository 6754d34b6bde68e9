// SPDX-License-Identifier: Apache-2.0
/// \file An order of a matrix's columns in which pruning to N:M loses little (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <tulle/compress/linear_algebra.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// Groups of `of` columns, of which `keep` stay in each row. Columns of large losses are dealt to different groups. Then
/// two groups at a time exchange a column each, as long as that lowers the loss.
/// Source of the dealing: Zhang et al. 2024, Plug-and-Play (RIA), section 4. Threads: one call at a time.
class ChannelPermutation {
 public:
  /// losses [columns, rows], from 0 on: what is lost with each weight; the columns are a multiple of `of`. Errors: memory.
  ChannelPermutation(BasicMatrix<float> losses, std::size_t keep, std::size_t of)
      : losses_(std::move(losses)),
        keep_(keep),
        of_(of),
        groups_(losses_.rows / of),
        order_(losses_.rows),
        bounds_(losses_.rows, losses_.columns),
        others_(losses_.rows),
        kept_(groups_) {
    std::iota(order_.begin(), order_.end(), 0U);
    for (std::size_t group = 0; group < groups_; ++group) measure(group);
  }

  /// order[new column] = old column. The same for any number of threads.
  const std::vector<std::uint32_t>& find(ThreadPool& pool) {
    deal();
    for_row_blocks(pool, groups_, 1, [&](RowRange range) { measure(range.begin); });
    for (std::size_t round = 0; round < std::min(groups_, max_rounds); ++round) {
      // The pairs of a round are the groups whose indices add up to it, modulo their number. No two pairs share a group.
      for_row_blocks(pool, groups_, 1, [&](RowRange range) {
        const std::size_t a = range.begin, b = (round + groups_ - a) % groups_;
        if (a < b) improve(a, b);
      });
    }
    return order_;
  }

  /// Sum of the losses of what stays: before `find` in the order that was given.
  double kept() const { return std::accumulate(kept_.begin(), kept_.end(), 0.0); }

 private:
  static constexpr std::size_t max_rounds = 256, max_of = 64;

  /// Sorted by their sums and cut into `of_` slices, of which each group gets a column; every other one from behind.
  void deal() {
    std::vector<double> sums(losses_.rows);
    for (std::size_t column = 0; column < sums.size(); ++column) {
      for (const float loss : losses_.row(column)) sums[column] += static_cast<double>(loss);
    }
    std::vector<std::uint32_t> sorted = order_;
    std::stable_sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return sums[a] > sums[b]; });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const std::size_t slice = i / groups_, at = i % groups_;
      order_[(slice % 2 == 0 ? at : groups_ - 1 - at) * of_ + slice] = sorted[i];
    }
  }

  /// Of each column in a group, per row: what another in its place must exceed to stay; and the sum of the others that
  /// stay whatever comes.
  void measure(std::size_t group) noexcept {
    const std::size_t first = group * of_;
    std::array<float, max_of> sorted;
    double kept = 0;
    std::fill_n(others_.begin() + static_cast<std::ptrdiff_t>(first), of_, 0.0);
    for (std::size_t row = 0; row < losses_.columns; ++row) {
      for (std::size_t i = 0; i < of_; ++i) sorted[i] = losses_[order_[first + i]][row];
      std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(keep_ + 1),
                        sorted.begin() + static_cast<std::ptrdiff_t>(of_), std::greater<>());
      const float last = sorted[keep_ - 1], next = sorted[keep_];
      const float before =
          std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(keep_ - 1), 0.0f);
      kept += static_cast<double>(before + last);
      for (std::size_t i = 0; i < of_; ++i) {
        const float own = losses_[order_[first + i]][row];
        const bool stays = own >= last;
        bounds_[first + i][row] = stays ? next : last;
        others_[first + i] += static_cast<double>(stays ? before + last - own : before);
      }
    }
    kept_[group] = kept;
  }

  /// Exchanges a column of one group with one of the other as long as that helps, at most `of_` times.
  void improve(std::size_t a, std::size_t b) noexcept {
    for (std::size_t turn = 0; turn < of_; ++turn) {
      const double now = kept_[a] + kept_[b];
      double best = now * (1 + 1e-6);
      std::size_t from = 0, to = 0;
      for (std::size_t i = a * of_; i < (a + 1) * of_; ++i) {
        for (std::size_t j = b * of_; j < (b + 1) * of_; ++j) {
          const double kept =
              others_[i] + larger(bounds_[i], losses_[order_[j]]) + others_[j] + larger(bounds_[j], losses_[order_[i]]);
          if (kept > best) best = kept, from = i, to = j;
        }
      }
      if (from == to) return;
      std::swap(order_[from], order_[to]);
      measure(a);
      measure(b);
    }
  }

  /// Sum of the larger of two numbers over all rows.
  double larger(const float* x, const float* y) const noexcept {
    constexpr std::size_t lanes = 16;
    std::array<float, lanes> sums{};
    std::size_t row = 0;
    for (; row + lanes <= losses_.columns; row += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += std::max(x[row + lane], y[row + lane]);
    }
    double sum = 0;
    for (; row < losses_.columns; ++row) sum += static_cast<double>(std::max(x[row], y[row]));
    for (const float lane : sums) sum += static_cast<double>(lane);
    return sum;
  }

  BasicMatrix<float> losses_;  // [columns, rows]
  std::size_t keep_, of_, groups_;
  std::vector<std::uint32_t> order_;
  BasicMatrix<float> bounds_;   // [columns, rows], in the new order
  std::vector<double> others_;  // of each column, in the new order
  std::vector<double> kept_;    // of each group
};

}  // namespace tulle
