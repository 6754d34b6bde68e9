// SPDX-License-Identifier: Apache-2.0
/// \file How well the compressed model predicts text that it was not calibrated on, beside the dense one (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/compress/blas_linear.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/decoder.hpp>
#include <tulle/sampling/row_score.hpp>

namespace tulle {

/// Over all tokens of the held-out sequences but the first of each.
struct HeldOutScores {
  std::size_t tokens = 0;  ///< 0: nothing was held out
  double dense_perplexity = 0, perplexity = 0;
  double ratio = 0, ratio_standard_error = 0;  ///< of perplexities, paired by sequence
  double kl_divergence = 0;                    ///< KL(dense || compressed), nats a token
  double same_top1 = 0;                        ///< share of tokens at which both find the same most probable
};

namespace detail {

struct SequenceScore {
  double dense = 0, own = 0, kl = 0;  // sums over tokens, in nats
  std::size_t same_top = 0, tokens = 0;
};

/// Logits of one sequence from two residual streams, `piece` rows at a time.
class HeadComparison {
 public:
  HeadComparison(const Architecture& model, const ModelWeights<BlasLinear>& dense_ends,
                 const ModelWeights<BlasLinear>& own_ends, ThreadPool& pool)
      : model_(model),
        dense_decoder_(model, dense_ends, pool, piece),
        own_decoder_(model, own_ends, pool, piece),
        dense_(piece * model.vocabulary, Uninitialized{}),
        own_(piece * model.vocabulary, Uninitialized{}) {}

  SequenceScore score(std::span<const Token> tokens, MatrixView<float> dense, MatrixView<float> own) noexcept {
    SequenceScore score;
    score.tokens = tokens.size() - 1;
    for (std::size_t begin = 0; begin + 1 < tokens.size(); begin += piece) {
      const std::size_t count = std::min(piece, tokens.size() - 1 - begin);
      run(dense_decoder_, rows_of(dense, {begin, begin + count}), dense_);
      run(own_decoder_, rows_of(own, {begin, begin + count}), own_);
      for (std::size_t i = 0; i < count; ++i) {
        const std::span<const float> reference(dense_.data() + i * model_.vocabulary, model_.vocabulary);
        const std::span<const float> logits(own_.data() + i * model_.vocabulary, model_.vocabulary);
        const Token next = tokens[begin + i + 1];
        const RowDivergence apart = divergence(reference, logits);
        score.dense += negative_log_likelihood(reference, next);
        score.own += negative_log_likelihood(logits, next);
        score.kl += apart.kl;
        score.same_top += apart.same_top ? 1 : 0;
      }
    }
    return score;
  }

 private:
  static constexpr std::size_t piece = 64;

  using HeadDecoder = Decoder<BlasLinear, ContiguousCache<float>>;

  void run(HeadDecoder& decoder, MatrixView<float> stream, AlignedBuffer<float>& logits) noexcept {
    const std::span<const Row> rows(rows_.data(), stream.rows);
    decoder.place(rows);
    const MatrixView<float> residual = decoder.residual(stream.rows);
    for (std::size_t row = 0; row < stream.rows; ++row) std::copy_n(stream[row], stream.columns, residual[row]);
    decoder.head(rows, {logits.data(), stream.rows, model_.vocabulary});
  }

  const Architecture& model_;
  HeadDecoder dense_decoder_, own_decoder_;
  std::vector<Row> rows_ = std::vector<Row>(piece);  // that want logits; where they stand does not matter any more
  AlignedBuffer<float> dense_, own_;
};

}  // namespace detail

/// Scores the sequences from `first` on. `dense` and `own`: residual streams [tokens, hidden] after the last layer.
/// `dense_ends`, `own_ends`: the final norm and the head of each. Errors: memory.
inline HeldOutScores score_held_out(const Architecture& model, const ModelWeights<BlasLinear>& dense_ends,
                                    const ModelWeights<BlasLinear>& own_ends, const TokenBatch& batch,
                                    std::size_t first, MatrixView<float> dense, MatrixView<float> own,
                                    ThreadPool& pool) {
  HeldOutScores result;
  if (first == batch.size()) return result;
  std::vector<detail::SequenceScore> scores(batch.size() - first);
  std::vector<std::unique_ptr<ThreadPool>> threads;
  std::vector<std::unique_ptr<detail::HeadComparison>> heads;
  for (std::size_t worker = 0; worker < pool.size(); ++worker) {
    threads.push_back(std::make_unique<ThreadPool>(1));
    heads.push_back(std::make_unique<detail::HeadComparison>(model, dense_ends, own_ends, *threads.back()));
  }
  pool.run([&](std::size_t worker) noexcept {
    for (std::size_t i = worker; i < scores.size(); i += pool.size()) {
      const RowRange range{batch.begin(first + i), batch.begin(first + i + 1)};
      scores[i] = heads[worker]->score(batch[first + i], rows_of(dense, range), rows_of(own, range));
    }
  });
  double dense_sum = 0, own_sum = 0, same = 0;
  std::vector<double> differences;
  for (const detail::SequenceScore& score : scores) {
    if (score.tokens == 0) continue;
    result.tokens += score.tokens;
    dense_sum += score.dense;
    own_sum += score.own;
    result.kl_divergence += score.kl;
    same += static_cast<double>(score.same_top);
    differences.push_back((score.own - score.dense) / static_cast<double>(score.tokens));
  }
  if (result.tokens == 0) return result;
  const double count = static_cast<double>(result.tokens), samples = static_cast<double>(differences.size());
  result.dense_perplexity = std::exp(dense_sum / count);
  result.perplexity = std::exp(own_sum / count);
  result.ratio = result.perplexity / result.dense_perplexity;
  result.kl_divergence /= count;
  result.same_top1 = same / count;
  double mean = 0, squares = 0;
  for (const double difference : differences) mean += difference / samples;
  for (const double difference : differences) squares += (difference - mean) * (difference - mean);
  if (samples > 1) result.ratio_standard_error = result.ratio * std::sqrt(squares / (samples - 1) / samples);
  return result;
}

/// |x~ - x|^2 / |x|^2 of two residual streams [tokens, hidden]: the mean over the tokens, but the first, of the sequences
/// [begin, end). 0 without any.
inline double mean_stream_error(const TokenBatch& batch, std::size_t begin, std::size_t end,
                                MatrixView<const float> dense, MatrixView<const float> own) noexcept {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t sequence = begin; sequence < end; ++sequence) {
    for (std::size_t token = batch.begin(sequence) + 1; token < batch.begin(sequence + 1); ++token) {
      double error = 0, whole = 0;
      for (std::size_t i = 0; i < dense.columns; ++i) {
        const double wanted = static_cast<double>(dense[token][i]);
        const double difference = static_cast<double>(own[token][i]) - wanted;
        error += difference * difference;
        whole += wanted * wanted;
      }
      sum += whole > 0 ? error / whole : 0;
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace tulle
