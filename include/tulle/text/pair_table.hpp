// SPDX-License-Identifier: Apache-2.0
/// \file A hash table from pairs of tokens to the result of their merge (L2).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// Open addressing, at most half full: a lookup mostly touches one cache line. A later insert of a pair replaces it.
class PairTable {
 public:
  struct Entry {
    std::uint32_t rank;
    Token merged;
  };

  explicit PairTable(std::size_t pairs)
      : slots_(std::bit_ceil(2 * pairs + 1)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// Requires: not more different pairs than the count given to the constructor.
  void insert(Token left, Token right, Entry entry) {
    Slot& slot = slots_[place(key(left, right))];
    slot = {key(left, right), entry};
  }

  /// nullptr when the pair does not merge.
  const Entry* find(Token left, Token right) const noexcept {
    const Slot& slot = slots_[place(key(left, right))];
    return slot.key == empty ? nullptr : &slot.entry;
  }

 private:
  static constexpr std::uint64_t empty = ~std::uint64_t{0};  // ids are never negative, so no pair looks like this

  struct Slot {
    std::uint64_t key = empty;
    Entry entry = {};
  };

  static std::uint64_t key(Token left, Token right) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  /// The slot where `wanted` is or would be. The multiplier is 2^64 / golden ratio: Knuth, TAOCP volume 3, section 6.4.
  std::size_t place(std::uint64_t wanted) const noexcept {
    const std::uint64_t hash = (wanted ^ wanted >> 29) * 0x9E3779B97F4A7C15u;
    std::size_t at = shift_ == 64 ? 0 : static_cast<std::size_t>(hash >> shift_);
    while (slots_[at].key != wanted && slots_[at].key != empty) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace tulle
