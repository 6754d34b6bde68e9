// SPDX-License-Identifier: Apache-2.0
/// \file A row of logits, 64 at a time (L2).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/sampling/logits.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle::detail {

/// A block of logits of a row that is processed together; entries beyond the end of the row are banned.
/// Lifetime: a view, except the row's last block, which is a copy.
template <class Batch = DefaultBatch>
class RowBlock {
 public:
  static constexpr std::size_t size = 64;

  RowBlock(std::span<const float> row, std::size_t begin) noexcept {
    const std::span<const float> rest = row.subspan(begin);
    if (rest.size() >= size) {
      logits_ = rest.data();
      return;
    }
    std::fill(std::copy(rest.begin(), rest.end(), last_.begin()), last_.end(), banned);
    logits_ = last_.data();
  }
  RowBlock(const RowBlock&) = delete;
  RowBlock& operator=(const RowBlock&) = delete;

  float operator[](std::size_t index) const noexcept { return logits_[index]; }

  /// Calls `visit(index, batch)` for each batch in order.
  template <class Visit>
  void for_each_batch(Visit visit) const noexcept {
    for (std::size_t index = 0; index < size; index += Batch::size) {
      visit(index, Batch::load_unaligned(logits_ + index));
    }
  }

  /// A bit mask of the logits for which `holds` is true.
  template <class Holds>
  std::uint64_t mask(Holds holds) const noexcept {
    std::uint64_t bits = 0;
    for_each_batch([&](std::size_t index, Batch logit) { bits |= std::uint64_t{holds(logit).mask()} << index; });
    return bits;
  }

 private:
  const float* logits_;
  std::array<float, size> last_;
};

/// Calls `visit(index)` for every bit that is set, from the lowest to the highest.
template <class Visit>
void for_each_bit(std::uint64_t bits, Visit visit) noexcept {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

/// The logits of a row for which `holds(batch)` is true, copied to `room` in their order; the row itself where more of
/// them exist than fit. Requires: `holds` is false for banned ones.
template <class Batch = DefaultBatch, class Holds>
std::span<const float> copy_few(std::span<const float> row, std::span<float> room, Holds holds) noexcept {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < row.size(); begin += RowBlock<Batch>::size) {
    const RowBlock<Batch> block(row, begin);
    const std::uint64_t found = block.mask(holds);
    if (count + static_cast<std::size_t>(std::popcount(found)) > room.size()) return row;
    for_each_bit(found, [&](std::size_t index) { room[count++] = block[index]; });
  }
  return room.first(count);
}

}  // namespace tulle::detail
