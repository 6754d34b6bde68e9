// SPDX-License-Identifier: Apache-2.0
/// \file Where the rows of a forward pass stand: their rotary angles, and which of them attention takes together (L3).
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/types.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/attention.hpp>

namespace tulle {

/// Rows of one sequence that follow each other, as many as attention takes at once.
struct RowBlock {
  std::size_t first, count;
};

/// Angles and blocks of at most `max_rows` rows. Threads: the angles of two rows may be found at the same time.
class RowPlaces {
 public:
  /// `model` must outlive it. Errors: memory.
  RowPlaces(const Architecture& model, std::size_t max_rows) : model_(model) {
    for (const Rotary& rotary : model_.rotary_tables) {
      first_pair_.push_back(pairs_);
      pairs_ += rotary.inverse_frequencies.size();
    }
    cosines_ = AlignedBuffer<float>(max_rows * pairs_);
    sines_ = AlignedBuffer<float>(max_rows * pairs_);
    blocks_.reserve(max_rows);
  }

  std::size_t size_bytes() const noexcept { return cosines_.size_bytes() + sines_.size_bytes(); }
  std::span<const RowBlock> blocks() const noexcept { return blocks_; }
  /// Of a row and a rotary table: [pairs of the table].
  const float* cosines(std::size_t row, std::size_t table) const noexcept { return cosines_.data() + at(row, table); }
  const float* sines(std::size_t row, std::size_t table) const noexcept { return sines_.data() + at(row, table); }

  /// Cosines and sines of one row, of all rotary tables.
  void find_angles(std::size_t row, Position position) noexcept {
    std::size_t pair = row * pairs_;
    for (const Rotary& rotary : model_.rotary_tables) {
      for (const float frequency : rotary.inverse_frequencies) {
        const auto angle = static_cast<double>(static_cast<float>(position) * frequency);
        cosines_[pair] = rotary.factor * static_cast<float>(std::cos(angle));
        sines_[pair++] = rotary.factor * static_cast<float>(std::sin(angle));
      }
    }
  }

  /// The blocks of `rows`, in their order.
  void find_blocks(std::span<const Row> rows) noexcept {
    assert(rows.size() <= blocks_.capacity());
    const std::size_t most = std::max<std::size_t>(1, attention_block / (model_.heads / model_.kv_heads));
    blocks_.clear();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const bool follows = !blocks_.empty() && blocks_.back().count < most &&
                           rows[row - 1].sequence == rows[row].sequence &&
                           rows[row - 1].position + 1 == rows[row].position;
      if (follows) {
        ++blocks_.back().count;
      } else {
        blocks_.push_back({row, 1});
      }
    }
  }

 private:
  std::size_t at(std::size_t row, std::size_t table) const noexcept { return row * pairs_ + first_pair_[table]; }

  const Architecture& model_;
  AlignedBuffer<float> cosines_, sines_;  // [max_rows, pairs of all rotary tables]
  std::size_t pairs_ = 0;
  std::vector<std::size_t> first_pair_;  // of each rotary table
  std::vector<RowBlock> blocks_;
};

}  // namespace tulle
