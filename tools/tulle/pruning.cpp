// SPDX-License-Identifier: Apache-2.0
#include "pruning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <tulle/tensor/sparsity.hpp>

namespace {

constexpr std::size_t widest_group = 16;

/// Leaves the `kept` codes of the largest sum of magnitudes among those whose gaps are at most `max_gap`.
void prune_group_by_gaps(std::span<std::int8_t> codes, std::size_t kept, std::size_t max_gap) {
  // best[n][end]: the largest sum of n codes of which the last is codes[end - 1]; -1 where there is none.
  std::array<std::array<int, widest_group + 1>, widest_group + 1> best, before;
  for (auto& row : best) row.fill(-1);
  best[0][0] = 0;
  for (std::size_t n = 1; n <= kept; ++n) {
    for (std::size_t end = n; end <= codes.size(); ++end) {
      for (std::size_t last = end - std::min(end, max_gap); last < end; ++last) {
        if (best[n - 1][last] < 0) continue;
        const int sum = best[n - 1][last] + std::abs(codes[end - 1]);
        if (sum <= best[n][end]) continue;
        best[n][end] = sum;
        before[n][end] = static_cast<int>(last);
      }
    }
  }
  auto end = static_cast<std::size_t>(std::max_element(best[kept].begin(), best[kept].end()) - best[kept].begin());
  std::array<bool, widest_group> keeps{};
  for (std::size_t n = kept; n > 0; --n) {
    keeps[end - 1] = true;
    end = static_cast<std::size_t>(before[n][end]);
  }
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = keeps[i] ? codes[i] : std::int8_t{0};
}

void prune_groups(I8Matrix& matrix, const Pruning& pruning) {
  std::vector<std::size_t> order(pruning.group);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t begin = 0; begin < matrix.columns; begin += pruning.group) {
      std::int8_t* codes = matrix.codes.data() + row * matrix.columns + begin;
      const std::size_t count = std::min(pruning.group, matrix.columns - begin);
      const std::size_t kept = pruning.kept * count / pruning.group;
      if (pruning.max_gap != 0) {
        prune_group_by_gaps({codes, count}, kept, pruning.max_gap);
        continue;
      }
      std::iota(order.begin(), order.end(), std::size_t{0});
      const auto nth = order.begin() + static_cast<std::ptrdiff_t>(kept);
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
      std::nth_element(order.begin(), nth, end, [&](std::size_t a, std::size_t b) {
        const int first = std::abs(codes[a]), second = std::abs(codes[b]);
        return first > second || (first == second && a < b);
      });
      std::for_each(nth, end, [&](std::size_t column) { codes[column] = 0; });
    }
  }
}

/// Bins of magnitudes in increasing order, with 7 bits of mantissa.
class Bins {
 public:
  static constexpr std::size_t count = std::size_t{1} << 15;

  explicit Bins(float scale) {
    for (std::size_t code = 0; code < bin_of_.size(); ++code) {
      bin_of_[code] = std::bit_cast<std::uint32_t>(std::fabs(scale) * static_cast<float>(code)) >> 16;
    }
  }
  std::size_t of(std::int8_t code) const noexcept { return bin_of_[static_cast<std::size_t>(std::abs(code))]; }

 private:
  std::array<std::uint32_t, 129> bin_of_;
};

template <class Visit>
void for_each_code(I8Matrix& matrix, Visit&& visit) {
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    const Bins bins(matrix.scales[row]);
    std::int8_t* codes = matrix.codes.data() + row * matrix.columns;
    for (std::size_t column = 0; column < matrix.columns; ++column) visit(codes[column], bins.of(codes[column]));
  }
}

void prune_smallest(I8Matrix& matrix, double sparsity) {
  std::vector<std::size_t> sizes(Bins::count);
  for_each_code(matrix, [&](std::int8_t, std::size_t bin) { ++sizes[bin]; });
  double left = std::round(sparsity * static_cast<double>(matrix.codes.size()));
  std::size_t last = 0;  // the bin that loses a part of its weights
  while (last + 1 < sizes.size() && static_cast<double>(sizes[last]) <= left) {
    left -= static_cast<double>(sizes[last++]);
  }
  const double share = sizes[last] == 0 ? 0 : left / static_cast<double>(sizes[last]);
  double due = 0;  // spreads that part evenly over the matrix
  for_each_code(matrix, [&](std::int8_t& code, std::size_t bin) {
    if (bin == last && (due += share) >= 1) {
      due -= 1;
      code = 0;
    } else if (bin < last) {
      code = 0;
    }
  });
}

}  // namespace

std::vector<Pruning> balanced_prunings() {
  std::vector<Pruning> prunings;
  for (const tulle::BalancedPattern& pattern : tulle::balanced_patterns) {
    const double sparsity = 1 - static_cast<double>(pattern.kept) / static_cast<double>(pattern.group);
    prunings.push_back({sparsity, pattern.name, pattern.kept, pattern.group, 0});
  }
  prunings.push_back({0.5, "8:16-gap4", 8, widest_group, 4});
  return prunings;
}

void prune(I8Matrix& matrix, const Pruning& pruning) {
  if (!pruning.prunes()) return;
  if (pruning.group != 0) {
    prune_groups(matrix, pruning);
  } else {
    prune_smallest(matrix, pruning.sparsity);
  }
}
