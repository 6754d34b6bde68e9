// SPDX-License-Identifier: Apache-2.0
/// \file Sequences of tokens, one after the other (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

/// Sequences of any lengths without padding. Threads: const members may run concurrently.
class TokenBatch {
 public:
  TokenBatch() = default;
  /// Errors: invalid_argument for an empty sequence or one with a token outside of `vocabulary`.
  TokenBatch(std::span<const std::vector<Token>> sequences, std::size_t vocabulary) {
    for (const std::vector<Token>& sequence : sequences) {
      if (sequence.empty()) fail(ErrorCode::invalid_argument, "sequence ", size(), " of the dataset has no tokens");
      for (const Token token : sequence) {
        if (token < 0 || static_cast<std::size_t>(token) >= vocabulary) {
          fail(ErrorCode::invalid_argument, "sequence ", size(), " of the dataset has token ", token,
               ", outside of the model's vocabulary of ", vocabulary, "; is it the model's tokenizer?");
        }
      }
      tokens_.insert(tokens_.end(), sequence.begin(), sequence.end());
      ends_.push_back(tokens_.size());
      max_length_ = std::max(max_length_, sequence.size());
    }
  }

  std::size_t size() const noexcept { return ends_.size(); }  ///< sequences
  std::size_t tokens() const noexcept { return tokens_.size(); }
  std::size_t max_length() const noexcept { return max_length_; }
  /// Where sequence `index` begins among all tokens; for `size()` where the last one ends.
  std::size_t begin(std::size_t index) const noexcept { return index == 0 ? 0 : ends_[index - 1]; }
  std::span<const Token> operator[](std::size_t index) const noexcept {
    return {tokens_.data() + begin(index), begin(index + 1) - begin(index)};
  }
  std::span<const Token> all() const noexcept { return tokens_; }

 private:
  std::vector<Token> tokens_;
  std::vector<std::size_t> ends_;
  std::size_t max_length_ = 0;
};

/// The sequences of a dataset for `model`. Errors: those of `TokenBatch`; invalid_argument for one that is longer than the
/// positions that the model has learned.
inline TokenBatch batch_for(const Architecture& model, std::span<const std::vector<Token>> sequences) {
  TokenBatch batch(sequences, model.vocabulary);
  if (const std::size_t rows = model.learned_positions; rows != 0 && batch.max_length() > rows - model.first_position) {
    fail(ErrorCode::invalid_argument, "a sequence has ", batch.max_length(), " tokens, but the model has learned ",
         rows - model.first_position, " positions; cut the sequences (--max-seq-length)");
  }
  return batch;
}

/// The model with the rotary frequencies of so long sequences.
inline Architecture model_for(Architecture model, const TokenBatch& batch) {
  model.set_sequence_length(batch.max_length());
  return model;
}

}  // namespace tulle
