// SPDX-License-Identifier: Apache-2.0
/// \file Which full blocks of a paged cache hold which tokens (L2).
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// A registered block has a serial number, which is never used again. Its key is the serial number of the block before
/// it (0 at the beginning of a text) and its own tokens, so a chain of keys stands for all tokens up to its end. Keys
/// are found by hash and compared exactly. When a block is erased, no key leads to those behind it any more.
///
/// Registered blocks that no sequence holds are in order of use: `oldest_unused` is the first to be taken for something
/// else. Only the constructor allocates.
class PrefixIndex {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  PrefixIndex() = default;  ///< of no blocks: finds nothing, and nothing may be inserted
  PrefixIndex(std::size_t blocks, Position block_size)
      : block_size_(block_size),
        entries_(blocks),
        tokens_(blocks * block_size),
        buckets_(std::bit_ceil(blocks), none) {}

  bool empty() const noexcept { return entries_.empty(); }  ///< made for no blocks
  std::size_t size_bytes() const noexcept {
    return entries_.size() * sizeof(Entry) + tokens_.size() * sizeof(Token) + buckets_.size() * sizeof(std::uint32_t);
  }

  /// 0: the block is not registered.
  std::uint64_t serial(std::uint32_t block) const noexcept { return empty() ? 0 : entries_[block].serial; }
  bool contains(std::uint32_t block) const noexcept { return serial(block) != 0; }

  /// The block with these tokens [block_size] behind the one with serial number `before`, or `none`.
  std::uint32_t find(std::uint64_t before, std::span<const Token> tokens) const noexcept {
    if (empty()) return none;
    std::uint32_t block = buckets_[bucket_of(before, tokens)];
    while (block != none && !has_key(block, before, tokens)) block = entries_[block].next;
    return block;
  }

  /// Registers a block that some sequence holds, under a key that no other one has.
  void insert(std::uint32_t block, std::uint64_t before, std::span<const Token> tokens) noexcept {
    assert(!contains(block) && tokens.size() == block_size_ && find(before, tokens) == none);
    std::uint32_t& bucket = buckets_[bucket_of(before, tokens)];
    entries_[block] = {.serial = ++last_serial_, .before = before, .next = bucket};
    std::copy(tokens.begin(), tokens.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(block * block_size_));
    bucket = block;
  }

  /// A block that is not registered is left alone.
  void erase(std::uint32_t block) noexcept {
    if (!contains(block)) return;
    if (entries_[block].unused) set_used(block);
    std::uint32_t* link = &buckets_[bucket_of(entries_[block].before, tokens_of(block))];
    while (*link != block) link = &entries_[*link].next;
    *link = entries_[block].next;
    entries_[block] = {};
  }

  /// Nobody holds a registered block any more: it is the most recently used of the unused ones.
  void set_unused(std::uint32_t block) noexcept {
    assert(contains(block) && !entries_[block].unused);
    entries_[block].unused = true;
    entries_[block].older = newest_;
    entries_[block].newer = none;
    (newest_ == none ? oldest_ : entries_[newest_].newer) = block;
    newest_ = block;
    ++unused_;
  }

  /// A sequence holds an unused block again.
  void set_used(std::uint32_t block) noexcept {
    const Entry& entry = entries_[block];
    assert(entry.unused);
    (entry.older == none ? oldest_ : entries_[entry.older].newer) = entry.newer;
    (entry.newer == none ? newest_ : entries_[entry.newer].older) = entry.older;
    entries_[block].unused = false;
    --unused_;
  }

  std::size_t unused() const noexcept { return unused_; }  ///< how many there are
  std::uint32_t oldest_unused() const noexcept { return oldest_; }

 private:
  struct Entry {
    std::uint64_t serial = 0;
    std::uint64_t before = 0;
    std::uint32_t next = none;  // of the bucket
    std::uint32_t older = none, newer = none;
    bool unused = false;
  };

  std::span<const Token> tokens_of(std::uint32_t block) const noexcept {
    return std::span(tokens_).subspan(block * block_size_, block_size_);
  }

  bool has_key(std::uint32_t block, std::uint64_t before, std::span<const Token> tokens) const noexcept {
    return entries_[block].before == before && std::ranges::equal(tokens_of(block), tokens);
  }

  std::size_t bucket_of(std::uint64_t before, std::span<const Token> tokens) const noexcept {
    std::uint64_t hash = 0;
    const auto mix = [&](std::uint64_t value) {
      hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    };
    mix(before);
    for (const Token token : tokens) mix(static_cast<std::uint64_t>(token));
    return static_cast<std::size_t>(hash) & (buckets_.size() - 1);
  }

  std::size_t block_size_ = 0;
  std::vector<Entry> entries_;          // [blocks]
  std::vector<Token> tokens_;           // [blocks, block_size]
  std::vector<std::uint32_t> buckets_;  // a power of two of them
  std::uint64_t last_serial_ = 0;
  std::uint32_t oldest_ = none, newest_ = none;
  std::size_t unused_ = 0;
};

}  // namespace tulle
