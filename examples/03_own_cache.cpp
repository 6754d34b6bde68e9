// SPDX-License-Identifier: Apache-2.0
// Lesson 3: your own cache layout. The memory of this one grows with the text, 64 positions at a time.
//   usage: 03_own_cache MODEL [PROMPT]
#include <tulle/cache/saved_state.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/sampling/greedy.hpp>

#include "continue_prompt.hpp"

using tulle::Position, tulle::SequenceId, tulle::attention_tile;

// A layout says where the keys and values of past positions are. Attention reads them as spans of rows that begin and
// end at multiples of `attention_tile`; a `RowStore` holds such rows. Here a sequence is a list of stores of one tile.
class GrowingCache {
 public:
  using Element = tulle::Half;
  GrowingCache(tulle::CacheShape shape, std::size_t sequences, Position capacity)
      : shape_(shape), capacity_(capacity), tiles_(sequences), lengths_(sequences) {}

  const tulle::CacheShape& shape() const noexcept { return shape_; }
  std::size_t sequences() const noexcept { return tiles_.size(); }
  Position capacity() const noexcept { return capacity_; }
  Position length(SequenceId sequence) const noexcept { return lengths_[sequence]; }
  Position room(SequenceId sequence) const noexcept { return capacity_ - lengths_[sequence]; }
  std::size_t size_bytes() const noexcept {
    std::size_t sum = 0;
    for (const auto& tiles : tiles_) sum += tiles.empty() ? 0 : tiles.size() * tiles.front().size_bytes();
    return sum;
  }

  // Called before every forward pass, and the only function of the token loop that may allocate.
  bool extend(SequenceId sequence, Position end) {
    if (end > capacity_) return false;
    while (tiles_[sequence].size() * attention_tile < end) tiles_[sequence].emplace_back(shape_, attention_tile);
    lengths_[sequence] = std::max(lengths_[sequence], end);
    return true;
  }
  void append(std::size_t layer, SequenceId sequence, Position at, const float* key, const float* value) noexcept {
    tiles_[sequence][at / attention_tile].write(layer, at % attention_tile, key, value);
  }
  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, tulle::Visible visible, Visit&& visit) const noexcept {
    for (Position begin = visible.begin, count = 0; begin < visible.end; begin += count) {
      count = std::min(attention_tile - begin % attention_tile, visible.end - begin);
      tiles_[sequence][begin / attention_tile].for_each_span(layer, begin % attention_tile, begin, count, visit);
    }
  }

  bool truncate(SequenceId sequence, Position length) noexcept {
    lengths_[sequence] = std::min(lengths_[sequence], length);
    return true;
  }
  void release(SequenceId sequence) noexcept { lengths_[sequence] = 0, tiles_[sequence].clear(); }
  bool fork(SequenceId from, SequenceId to) {  // a layout with reference counts would share here
    std::vector<std::byte> state;
    save(from, state);
    release(to);
    return restore(to, state);
  }
  void save(SequenceId sequence, std::vector<std::byte>& saved) const { tulle::save_state(*this, sequence, saved); }
  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    const auto state = tulle::SavedState<Element>::parse(bytes, shape_);
    if (length(sequence) != 0 || !state || !state->complete() || !extend(sequence, state->length())) return false;
    for (Position begin = 0; begin < state->length(); begin += attention_tile) {
      const Position count = std::min(attention_tile, state->length() - begin);
      state->load(begin, count, tiles_[sequence][begin / attention_tile], 0);
    }
    return true;
  }

 private:
  tulle::CacheShape shape_;
  Position capacity_;
  std::vector<std::vector<tulle::RowStore<Element>>> tiles_;
  std::vector<Position> lengths_;
};
static_assert(tulle::CacheLayout<GrowingCache>);

int main(int count, char** arguments) {
  return continue_prompt<tulle::AnyKernel, GrowingCache, tulle::Greedy>(count, arguments);
}
