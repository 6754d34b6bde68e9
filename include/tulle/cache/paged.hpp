// SPDX-License-Identifier: Apache-2.0
/// \file Blocks of positions from one pool, shared by the sequences that begin alike (L2).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/element.hpp>
#include <tulle/cache/prefix_index.hpp>
#include <tulle/cache/row_store.hpp>
#include <tulle/cache/saved_state.hpp>
#include <tulle/cache/slot_table.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// The blocks of a sequence.
struct BlockSlot : SequenceSlot {
  std::vector<std::uint32_t> blocks;  ///< always just enough for `length`
  std::size_t published = 0;          ///< the first of them, all full, that are registered
};

/// A sequence is a list of blocks of `block_size` positions; row = block * block_size + position % block_size. Kwon et
/// al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023.
///
/// Blocks are counted references: `fork` shares them all and needs none. Rows are only ever written behind the length
/// of a sequence, so of shared blocks at most the last, partly filled one is written to: `extend` copies it first. The
/// pool is one allocation whose memory the system hands out as blocks are first written. Layers with a window keep all
/// their rows, too. Complexity: truncate returns one block for every block that was filled since.
///
/// With `share_prefixes`, full blocks are also shared by sequences that are no forks of each other. `publish` registers
/// them with their tokens and `adopt` finds them; keys and values depend on the tokens up to them alone. A registered
/// block that nobody holds counts as free: it keeps its rows until `extend` takes it, the least recently used first.
/// A sequence holds every block before one that it holds and gives the last back first, so the ends of chains go first.
template <CacheElement ElementType>
class PagedCache : public SlotTable<BlockSlot> {
 public:
  using Element = ElementType;

  /// No sequence grows beyond `longest` positions, even where there are blocks. Without `share_prefixes`, `publish` and
  /// `adopt` do nothing.
  /// Errors: invalid_argument for sizes that are zero or too large, or a block size that is no multiple of
  /// `attention_tile`; memory when the system refuses the pool.
  PagedCache(const CacheShape& shape, std::size_t sequences, std::size_t blocks, Position block_size = attention_tile,
             Position longest = std::numeric_limits<Position>::max(), bool share_prefixes = false)
      : SlotTable(shape, sequences), block_size_(block_size), longest_(longest) {
    if (block_size == 0 || block_size % attention_tile != 0) {
      fail(ErrorCode::invalid_argument, "a block of ", block_size, " positions; use a multiple of ", attention_tile);
    }
    const std::size_t max_blocks = std::numeric_limits<Position>::max() / block_size;
    if (blocks == 0 || blocks > max_blocks) {
      fail(ErrorCode::invalid_argument, "a paged cache holds 1 to ", max_blocks, " blocks of ", block_size,
           " positions, not ", blocks);
    }
    pool_ = RowStore<Element>(shape, blocks * block_size);
    references_.resize(blocks, 0);
    free_.resize(blocks);
    for (std::size_t i = 0; i < blocks; ++i) free_[i] = static_cast<std::uint32_t>(blocks - 1 - i);
    if (share_prefixes) index_ = PrefixIndex(blocks, block_size);
  }

  Position capacity() const noexcept { return std::min(longest_, static_cast<Position>(blocks() * block_size_)); }
  Position room(SequenceId sequence) const noexcept {
    const Slot& held = slot(sequence);
    const Position filled = held.length % block_size_;  // of the last block; 0 when it is full
    const bool shares_tail = filled != 0 && references_[held.blocks.back()] > 1;
    if (shares_tail && free_blocks() == 0) return 0;  // the last block must be copied before it is written
    const std::size_t blocks = free_blocks() - (shares_tail ? 1 : 0);
    const auto room = static_cast<Position>(blocks * block_size_ + (filled == 0 ? 0 : block_size_ - filled));
    return std::min(room, longest_ - std::min(longest_, held.length));
  }
  Position block_size() const noexcept { return block_size_; }
  std::size_t blocks() const noexcept { return references_.size(); }
  std::size_t free_blocks() const noexcept { return free_.size() + index_.unused(); }
  std::size_t size_bytes() const noexcept { return pool_.size_bytes() + index_.size_bytes(); }

  bool extend(SequenceId sequence, Position end) {
    Slot& target = slot(sequence);
    if (end <= target.length) return true;
    if (end > longest_) return false;
    const std::size_t held = target.blocks.size();
    const std::size_t wanted = blocks_for(end);
    const std::size_t filled = target.length % block_size_;  // of the last block; 0 when it is full
    const bool shares_tail = filled != 0 && references_[target.blocks.back()] > 1;
    if (wanted - held + (shares_tail ? 1 : 0) > free_blocks()) return false;
    target.blocks.resize(wanted);
    if (shares_tail) {
      std::uint32_t& tail = target.blocks[held - 1];
      const std::uint32_t copy = take_block();
      pool_.copy(pool_, row_of(tail, 0), row_of(copy, 0), filled);
      drop_block(tail);
      tail = copy;
    } else if (filled != 0) {
      index_.erase(target.blocks[held - 1]);  // rolled back into: other rows follow
    }
    for (std::size_t i = held; i < wanted; ++i) target.blocks[i] = take_block();
    target.length = end;
    return true;
  }

  void append(std::size_t layer, SequenceId sequence, Position position, const float* key,
              const float* value) noexcept {
    assert(position < length(sequence));
    const std::uint32_t block = slot(sequence).blocks[position / block_size_];
    assert(references_[block] == 1 && !index_.contains(block));
    pool_.write(layer, row_of(block, position % block_size_), key, value);
  }

  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, const Visible& visible, Visit&& visit) const noexcept {
    assert(visible.begin < visible.end && visible.end <= length(sequence));
    const std::uint32_t* blocks = slot(sequence).blocks.data();
    for (Position begin = visible.begin; begin < visible.end;) {
      const Position offset = begin % block_size_, count = std::min(visible.end - begin, block_size_ - offset);
      pool_.for_each_span(layer, row_of(blocks[begin / block_size_], offset), begin, count, visit);
      begin += count;
    }
  }

  /// False only where a restored state lacks positions that a layer with a window attends to.
  bool truncate(SequenceId sequence, Position length) noexcept {
    if (!shorten(sequence, length)) return false;
    Slot& target = slot(sequence);
    while (target.blocks.size() > blocks_for(length)) {
      drop_block(target.blocks.back());
      target.blocks.pop_back();
    }
    target.published = std::min<std::size_t>(target.published, target.length / block_size_);
    return true;
  }

  bool fork(SequenceId from, SequenceId to) {
    if (from == to) return true;
    Slot copy = slot(from);
    for (const std::uint32_t block : copy.blocks) ++references_[block];
    release(to);
    slot(to) = std::move(copy);
    return true;
  }

  void release(SequenceId sequence) noexcept {
    truncate(sequence, 0);
    slot(sequence) = Slot();
  }

  void save(SequenceId sequence, std::vector<std::byte>& saved) const {
    save_state(*this, sequence, saved, this->kept(sequence));
  }

  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    if (length(sequence) != 0) return false;
    const auto state = SavedState<Element>::parse(bytes, shape());
    if (!state || !state->complete() || !extend(sequence, state->length())) return false;
    Position begin = 0;
    for (const std::uint32_t block : slot(sequence).blocks) {
      const Position count = std::min(state->length() - begin, block_size_);
      state->load(begin, count, pool_, row_of(block, 0));
      begin += count;
    }
    slot(sequence).restored = state->window_end();
    return true;
  }

  /// Where another sequence has registered the same tokens, its block replaces the own one, whose rows are equal and
  /// which is given back. What follows a restored state is not registered: nothing in the state is trusted, and windows
  /// leave rows out.
  void publish(SequenceId sequence, std::span<const Token> tokens) noexcept {
    Slot& source = slot(sequence);
    if (index_.empty() || source.restored != 0) return;
    const std::size_t full = std::min<std::size_t>(source.length, tokens.size()) / block_size_;
    for (; source.published < full; ++source.published) {
      const std::span<const Token> own = tokens.subspan(source.published * block_size_, block_size_);
      const std::uint64_t before = last_serial(source);
      std::uint32_t& block = source.blocks[source.published];
      const std::uint32_t known = index_.find(before, own);
      if (known == PrefixIndex::none) {
        index_.insert(block, before, own);
      } else if (known != block) {
        hold_block(known);
        drop_block(block);
        block = known;
      }
    }
  }

  Position adopt(SequenceId sequence, std::span<const Token> tokens) {
    Slot& target = slot(sequence);
    if (target.length != 0 || tokens.empty()) return target.length;
    const std::size_t max_blocks = (tokens.size() - 1) / block_size_;
    while (target.published < max_blocks) {
      const std::uint32_t known =
          index_.find(last_serial(target), tokens.subspan(target.published * block_size_, block_size_));
      if (known == PrefixIndex::none) break;
      target.blocks.push_back(known);
      hold_block(known);
      ++target.published;
      target.length += block_size_;
    }
    return target.length;
  }

 private:
  using Slot = BlockSlot;

  std::size_t blocks_for(Position length) const noexcept {
    return length / block_size_ + (length % block_size_ == 0 ? 0 : 1);
  }
  std::size_t row_of(std::uint32_t block, Position offset) const noexcept {
    return std::size_t{block} * block_size_ + offset;
  }

  /// Of the published blocks of a sequence; 0 when there is none.
  std::uint64_t last_serial(const Slot& slot) const noexcept {
    return slot.published == 0 ? 0 : index_.serial(slot.blocks[slot.published - 1]);
  }

  std::uint32_t take_block() noexcept {
    if (free_.empty()) {
      free_.push_back(index_.oldest_unused());
      index_.erase(free_.back());
    }
    const std::uint32_t block = free_.back();
    free_.pop_back();
    references_[block] = 1;
    return block;
  }

  /// Of a registered block.
  void hold_block(std::uint32_t block) noexcept {
    if (references_[block]++ == 0) index_.set_used(block);
  }

  /// Never allocates: the list of free blocks was once as long as the pool.
  void drop_block(std::uint32_t block) noexcept {
    if (--references_[block] != 0) return;
    if (index_.contains(block)) {
      index_.set_unused(block);
    } else {
      free_.push_back(block);
    }
  }

  Position block_size_;
  Position longest_;
  RowStore<Element> pool_;                 // [blocks * block_size] rows
  std::vector<std::uint32_t> references_;  // of a block: how many sequences hold it
  std::vector<std::uint32_t> free_;        // not registered
  PrefixIndex index_;                      // of no blocks unless prefixes are shared
};

static_assert(CacheLayout<PagedCache<float>>);
static_assert(CacheLayout<PagedCache<Half>>);
static_assert(CacheLayout<PagedCache<std::int8_t>>);
static_assert(PrefixSharing<PagedCache<float>>);

}  // namespace tulle
