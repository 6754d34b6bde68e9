// SPDX-License-Identifier: Apache-2.0
/// \file Memory for the logits of a step (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/tensor/matrix_view.hpp>

namespace tulle::detail {

/// Rows of logits [rows, vocabulary]: some always, more while steps need them. Rows that were never written take no
/// memory. Threads: one at a time.
class LogitsRows {
 public:
  /// Errors: memory.
  LogitsRows(std::size_t always, std::size_t vocabulary)
      : always_(always), vocabulary_(vocabulary), some_(always * vocabulary, Uninitialized{}) {}

  /// There is room for `rows` afterwards. Errors: memory, which changes nothing.
  void reserve(std::size_t rows) {
    const std::size_t size = rows * vocabulary_;
    if (size <= std::max(some_.size(), more_.size())) return;
    more_ = {};
    more_ = AlignedBuffer<float>(size, Uninitialized{});
  }

  /// There is room for a copy of a row afterwards. Errors: memory, which changes nothing.
  [[gnu::noinline]] void reserve_copy() { copy_.reserve(vocabulary_); }
  /// Needs: `reserve_copy`.
  [[gnu::noinline]] void copy(std::span<const float> row) noexcept { copy_.assign(row.begin(), row.end()); }
  std::span<const float> copied() const noexcept { return copy_; }

  /// Gives memory back that `rows` do not need, but for a few rows, which drafts need again and again.
  void shrink(std::size_t rows) noexcept {
    constexpr std::size_t few = 16;
    if (rows <= always_ && more_.size() > few * vocabulary_) more_ = {};
  }

  MatrixView<float> view() noexcept {
    AlignedBuffer<float>& buffer = more_.size() > some_.size() ? more_ : some_;
    return {buffer.data(), buffer.size() / vocabulary_, vocabulary_};
  }
  std::size_t size_bytes() const noexcept { return some_.size_bytes() + more_.size_bytes(); }

 private:
  std::size_t always_, vocabulary_;
  AlignedBuffer<float> some_, more_;
  std::vector<float> copy_;
};

}  // namespace tulle::detail
