// SPDX-License-Identifier: Apache-2.0
#include "pruning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace {

void prune_groups(I8Matrix& matrix, const Pruning& pruning) {
  std::vector<std::size_t> order(pruning.group);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t begin = 0; begin < matrix.columns; begin += pruning.group) {
      std::int8_t* codes = matrix.codes.data() + row * matrix.columns + begin;
      const std::size_t count = std::min(pruning.group, matrix.columns - begin);
      const std::size_t kept = pruning.kept * count / pruning.group;
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

/// Magnitudes in increasing order, told apart by 7 bits of mantissa.
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
  while (last + 1 < sizes.size() && static_cast<double>(sizes[last]) <= left) left -= static_cast<double>(sizes[last++]);
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

void prune(I8Matrix& matrix, const Pruning& pruning) {
  if (!pruning.prunes()) return;
  if (pruning.group != 0) {
    prune_groups(matrix, pruning);
  } else {
    prune_smallest(matrix, pruning.sparsity);
  }
}
