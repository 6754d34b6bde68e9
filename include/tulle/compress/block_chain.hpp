// SPDX-License-Identifier: Apache-2.0
/// \file The calibration sequences on their way through the model, one decoder layer in memory at a time (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/compress/blas_linear.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/decoder.hpp>

namespace tulle {

/// The residual streams of all sequences before, inside and after a decoder layer. Every sequence is run by one thread,
/// so the values do not depend on the number of threads.
///
/// Of a layer: `enter`, then for each role, in the order of `LinearRole`, `collect` and `advance`: of all sequences, or of
/// one of the role's `groups` after the other, so that what they read needs little memory. With a mixture of experts,
/// what `up` collects is what they read, and `advance` of `down` follows it. Between the two calls the weights may be
/// replaced. Where the residual is parallel, all roles read the stream that entered the layer.
/// Threads: one call at a time.
class BlockChain {
 public:
  /// The layer of a role, but the head.
  template <class Weights>
  static auto& linear(Weights& weights, LinearRole role) noexcept {
    switch (role) {
      case LinearRole::query_key_value: return weights.query_key_value;
      case LinearRole::output: return weights.output;
      case LinearRole::up: return weights.up;
      default: return weights.down;
    }
  }

  /// A group's inputs have at most `input_bytes` bytes, or are those of one sequence. `model`, `batch` and `pool` must
  /// outlive the chain. Errors: memory.
  BlockChain(const Architecture& model, const TokenBatch& batch, ThreadPool& pool,
             std::size_t input_bytes = std::numeric_limits<std::size_t>::max())
      : model_(model),
        batch_(batch),
        pool_(pool),
        max_inputs_(input_bytes / sizeof(float)),
        residual_(batch.tokens() * model.hidden) {
    for (std::size_t worker = 0; worker < pool.size(); ++worker) threads_.push_back(std::make_unique<ThreadPool>(1));
  }

  /// The residual stream [tokens, hidden].
  MatrixView<float> residual() noexcept { return {residual_.data(), batch_.tokens(), model_.hidden}; }
  /// What the role of the last `collect` reads [tokens of its sequences, columns].
  MatrixView<const float> inputs() const noexcept { return {inputs_.data(), tokens_of(collected_).count(), columns_}; }
  /// The tokens of a range of sequences.
  RowRange tokens_of(RowRange sequences) const noexcept {
    return {batch_.begin(sequences.begin), batch_.begin(sequences.end)};
  }

  /// Begins with the embeddings of all tokens. `weights`: those before the decoder layers.
  void embed(const ModelWeights<BlasLinear>& weights) {
    const auto runners = make_runners(model_, weights, nullptr);
    const RowRange all{0, batch_.size()};
    run_sequences(all, [&](std::size_t worker, std::size_t, std::span<const Row> rows, MatrixView<float> stream) {
      runners[worker]->decoder.embed(rows);
      copy(runners[worker]->decoder.residual(rows.size()), stream);
    });
  }

  /// Takes up layer `layer`, and its weights as `load_layer` gives them.
  void enter(std::size_t layer, LayerWeights<BlasLinear> weights) {
    block_ = model_;
    block_.layers = {model_.layers[layer]};
    replace(std::move(weights));
    if (!parallel()) return;
    if (entry_.size() == 0) entry_ = AlignedBuffer<float>(residual_.size(), Uninitialized{});
    std::copy_n(residual_.data(), residual_.size(), entry_.data());
  }

  void replace(LayerWeights<BlasLinear> weights) {
    weights_.layers.clear();
    weights_.layers.push_back(std::move(weights));
  }
  const LayerWeights<BlasLinear>& weights() const noexcept { return weights_.layers.front(); }

  /// Ranges of sequences, in their order, whose inputs of `role` are collected at once. Experts choose among all tokens,
  /// so with a mixture there is one.
  std::vector<RowRange> groups(LinearRole role) const {
    std::vector<RowRange> groups(1);
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const RowRange longer{groups.back().begin, i + 1};
      const bool fits = tokens_of(longer).count() * columns_of(role) <= max_inputs_;
      if (fits || i == longer.begin || feeds_experts(role)) {
        groups.back() = longer;
      } else {
        groups.push_back({i, i + 1});
      }
    }
    return groups;
  }

  /// Fills `inputs` with what `role` reads, of all sequences.
  void collect(LinearRole role) { collect(role, {0, batch_.size()}); }
  /// The same of some sequences. Errors: memory.
  void collect(LinearRole role, RowRange sequences) {
    collected_ = sequences;
    columns_ = columns_of(role);
    const std::size_t first = tokens_of(sequences).begin, count = tokens_of(sequences).count() * columns_;
    if (inputs_.size() < count) {
      inputs_ = {};  // not both at once
      inputs_ = AlignedBuffer<float>(count, Uninitialized{});
    }
    // The role itself has no rows here, so only what leads to it is computed.
    ModelWeights<BlasLinear> weights = weights_;
    if (!feeds_experts(role)) remove_rows(linear(weights.layers.front(), role));
    if (parallel() && role != LinearRole::output) remove_rows(weights.layers.front().query_key_value);
    const auto runners = make_runners(block_, weights, &role);
    run_sequences(sequences, [&](std::size_t worker, std::size_t begin, std::span<const Row> rows,
                                 MatrixView<float> stream) {
      Runner& runner = *runners[worker];
      runner.out = {inputs_.data() + (begin - first) * columns_, rows.size(), columns_};
      runner.decoder.place(rows);
      copy(parallel() ? MatrixView<float>{entry_.data() + begin * model_.hidden, rows.size(), model_.hidden} : stream,
           runner.decoder.residual(rows.size()));
      const bool attends = role == LinearRole::query_key_value || role == LinearRole::output;
      if (attends || parallel()) runner.decoder.queries_keys_values(0, rows);
      if (role == LinearRole::output) {
        runner.cache.truncate(0, 0);
        runner.cache.extend(0, static_cast<Position>(rows.size()));
        runner.decoder.attend(0, rows, runner.cache, 0);
        runner.decoder.output(0, rows);
      }
      if (!attends) runner.decoder.up(0, rows);
      if (role == LinearRole::down) runner.decoder.down(0, rows);
    });
  }

  /// Adds what `output` and `down` make of `inputs` to the residual stream, of the collected sequences. The other roles
  /// change nothing there.
  void advance(LinearRole role) {
    if (role != LinearRole::output && role != LinearRole::down) return;
    const auto runners = make_runners(block_, weights_, nullptr);
    const std::size_t first = tokens_of(collected_).begin;
    run_sequences(collected_,
                  [&](std::size_t worker, std::size_t begin, std::span<const Row> rows, MatrixView<float> stream) {
                    Decoder<BlasLinear, Cache>& decoder = runners[worker]->decoder;
                    copy(stream, decoder.residual(rows.size()));
                    decoder.add_branch(0, role, {inputs_.data() + (begin - first) * columns_, rows.size(), columns_});
                    copy(decoder.residual(rows.size()), stream);
                  });
  }

  /// Both, of all groups.
  void run(LinearRole role) {
    for (const RowRange group : groups(role)) {
      collect(role, group);
      advance(role);
    }
  }

 private:
  using Cache = ContiguousCache<float>;

  /// A decoder of one layer on one thread, which copies what `role` reads.
  struct Runner final : DecoderObserver {
    Runner(const Architecture& model, const ModelWeights<BlasLinear>& weights, ThreadPool& pool, std::size_t rows,
           const LinearRole* wanted)
        : decoder(model, weights, pool, rows), cache(shape(model), 1, static_cast<Position>(rows)), role(wanted) {
      if (role != nullptr) decoder.set_observer(this);
    }
    static CacheShape shape(const Architecture& model) { return CacheShape(1, cache_shape(model, 0)); }
    void observe(std::size_t, LinearRole which, std::span<const Row>, MatrixView<const float> x) noexcept override {
      if (which == *role) copy(x, out);
    }
    Decoder<BlasLinear, Cache> decoder;
    Cache cache;
    const LinearRole* role;
    MatrixView<float> out;
  };

  std::vector<std::unique_ptr<Runner>> make_runners(const Architecture& model, const ModelWeights<BlasLinear>& weights,
                                                    const LinearRole* role) {
    std::vector<std::unique_ptr<Runner>> runners;
    for (const auto& thread : threads_) {
      runners.push_back(std::make_unique<Runner>(model, weights, *thread, batch_.max_length(), role));
    }
    return runners;
  }

  static void copy(MatrixView<const float> from, MatrixView<float> to) noexcept {
    for (std::size_t row = 0; row < from.rows; ++row) std::copy_n(from[row], from.columns, to[row]);
  }
  static void remove_rows(Linear<BlasLinear>& linear) {
    linear.parts.front().weights = linear.parts.front().weights.without_rows();
    linear.parts.resize(1);
  }
  bool feeds_experts(LinearRole role) const noexcept {
    return role == LinearRole::up && block_.layers.front().is_mixture();
  }
  std::size_t columns_of(LinearRole role) const noexcept {
    return feeds_experts(role) ? model_.hidden : linear(weights(), role).columns();
  }
  bool parallel() const noexcept { return block_.layers.front().residual == Residual::parallel; }

  /// Calls work(worker, first token, rows, their part of the residual stream) for each of the sequences.
  template <class Work>
  void run_sequences(RowRange sequences, Work&& work) {
    std::vector<std::vector<Row>> rows(pool_.size(), std::vector<Row>(batch_.max_length()));
    pool_.run([&](std::size_t worker) noexcept {
      for (std::size_t i = sequences.begin + worker; i < sequences.end; i += pool_.size()) {
        const std::span<const Token> tokens = batch_[i];
        for (std::size_t j = 0; j < tokens.size(); ++j)
          rows[worker][j] = {0, static_cast<Position>(j), tokens[j], false};
        const std::size_t begin = batch_.begin(i);
        work(worker, begin, std::span<const Row>(rows[worker].data(), tokens.size()),
             MatrixView<float>{residual()[begin], tokens.size(), model_.hidden});
      }
    });
  }

  const Architecture& model_;
  const TokenBatch& batch_;
  ThreadPool& pool_;
  std::size_t max_inputs_;                            // values of a group
  std::vector<std::unique_ptr<ThreadPool>> threads_;  // of one thread each: a decoder runs on its caller's
  AlignedBuffer<float> residual_;                     // [tokens, hidden]
  AlignedBuffer<float> entry_;                        // the same as it entered a layer with a parallel residual
  AlignedBuffer<float> inputs_;                       // [tokens, columns], of the sequences `collected_`
  RowRange collected_;
  std::size_t columns_ = 0;
  Architecture block_;  // of one layer
  ModelWeights<BlasLinear> weights_;
};

}  // namespace tulle
