// SPDX-License-Identifier: Apache-2.0
/// \file Tunes the compressed matrices of half a decoder layer on its output (L5).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tulle/compress/half_block.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/compress/refinement_plan.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/compress/tunable_rows.hpp>
#include <tulle/core/rng.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// Residual streams [tokens, hidden] of all sequences.
struct HalfStreams {
  MatrixView<const float> entry;   ///< what the half reads
  MatrixView<const float> base;    ///< what its branch is added to
  MatrixView<const float> target;  ///< the dense model's, after this half
};

/// Adam on the mean of |y - target|^2 / |target|^2 over the tokens, some whole sequences a step. A sequence is run by one
/// thread, and gradients are added in the order of the sequences, so the result does not depend on the number of
/// threads. Threads: one call at a time.
class HalfRefiner {
 public:
  /// Of the sequences, the first `training` are learnt and those up to `end` choose the best state. All must outlive the
  /// object. Errors: memory.
  HalfRefiner(const Architecture& model, const LayerSpec& spec, const LayerWeights<BlasLinear>& weights, BlockHalf half,
              const TokenBatch& batch, std::size_t training, std::size_t end, const RefinementPlan& plan,
              ThreadPool& pool)
      : plan_(plan), batch_(batch), training_(training), end_(end), pool_(pool), slots_(plan.batch) {
    for (std::size_t worker = 0; worker < pool.size(); ++worker) {
      workers_.push_back(std::make_unique<Worker>(model, spec, weights, half, batch.max_length()));
    }
  }

  /// Moves the rows of `first` and `second`, the half's two matrices, and leaves them in their best state. `stream`
  /// makes the order of the sequences differ between halves.
  RefinementReport refine(TunableRows& first, TunableRows& second, const HalfStreams& streams, std::uint64_t stream) {
    const auto begin = std::chrono::steady_clock::now();
    for (Slot& slot : slots_) {
      slot.first = Matrix(first.rows(), first.values().columns);
      slot.second = Matrix(second.rows(), second.values().columns);
    }
    RefinementReport report;
    report.before = report.after = held_out_error(first, second, streams);
    first.keep();
    second.keep();
    const std::size_t steps = (training_ + plan_.batch - 1) / plan_.batch, total = steps * plan_.epochs;
    std::size_t number = 0;
    double rate = plan_.rate;
    for (std::size_t epoch = 0; epoch < plan_.epochs; ++epoch) {
      const std::vector<std::size_t> order = shuffled(stream * plan_.epochs + epoch);
      for (std::size_t at = 0; at < training_; at += plan_.batch) {
        const double done = static_cast<double>(number++) / static_cast<double>(total);
        const double warm = std::min(1.0, static_cast<double>(number) / warm_up_steps);
        const AdamStep step(number, static_cast<float>(rate * warm * (1 - done)));
        const std::span chosen = std::span(order).subspan(at, std::min(plan_.batch, training_ - at));
        find_gradients(chosen, first, second, streams);
        move(first, &Slot::first, chosen.size(), step);
        move(second, &Slot::second, chosen.size(), step);
      }
      const double error = held_out_error(first, second, streams);
      if (!(error < report.after)) {  // undone, and from here on with shorter steps
        first.restore();
        second.restore();
        rate /= 3;
        continue;
      }
      report.after = error;
      report.epoch = epoch + 1;
      first.keep();
      second.keep();
    }
    first.restore();
    second.restore();
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
  }

 private:
  static constexpr double warm_up_steps = 4;

  struct Worker {
    Worker(const Architecture& model, const LayerSpec& spec, const LayerWeights<BlasLinear>& weights, BlockHalf half,
           std::size_t max_length)
        : block(model, spec, weights, half, max_length), y(max_length, model.hidden) {}
    HalfBlock block;
    Matrix y;
  };
  struct Slot {
    Matrix first, second;  // gradients of one sequence
  };

  /// All training sequences, in the order of numbers that are drawn for them.
  std::vector<std::size_t> shuffled(std::uint64_t stream) const {
    std::vector<std::size_t> order(training_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) {
      const double drawn = uniform(plan_.seed, stream, static_cast<std::uint32_t>(i));
      std::swap(order[i - 1], order[static_cast<std::size_t>(drawn * static_cast<double>(i))]);
    }
    return order;
  }

  /// Runs sequence `index` and returns the sum of its tokens' errors. y becomes the gradient of that sum.
  double run(Worker& worker, std::size_t index, TunableRows& first, TunableRows& second, const HalfStreams& streams) {
    const RowRange range{batch_.begin(index), batch_.begin(index + 1)};
    const MatrixView<float> y{worker.y.values.data(), range.count(), worker.y.columns};
    const MatrixView<const float> target = rows_of(streams.target, range);
    worker.block.forward({first.values(), second.values()}, rows_of(streams.entry, range), rows_of(streams.base, range),
                         y);
    double sum = 0;
    for (std::size_t row = 0; row < y.rows; ++row) {
      double error = 0, whole = 0;
      for (std::size_t i = 0; i < y.columns; ++i) {
        const double wanted = static_cast<double>(target[row][i]), apart = static_cast<double>(y[row][i]) - wanted;
        error += apart * apart;
        whole += wanted * wanted;
      }
      const double weight = whole > 0 ? 1 / whole : 0;
      sum += error * weight;
      const auto slope = static_cast<float>(2 * weight);
      for (std::size_t i = 0; i < y.columns; ++i) y[row][i] = slope * (y[row][i] - target[row][i]);
    }
    return sum;
  }

  double held_out_error(TunableRows& first, TunableRows& second, const HalfStreams& streams) {
    std::vector<double> sums(end_ - training_);
    pool_.run([&](std::size_t worker) noexcept {
      for (std::size_t i = worker; i < sums.size(); i += pool_.size()) {
        sums[i] = run(*workers_[worker], training_ + i, first, second, streams);
      }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) /
           static_cast<double>(batch_.begin(end_) - batch_.begin(training_));
  }

  void find_gradients(std::span<const std::size_t> chosen, TunableRows& first, TunableRows& second,
                      const HalfStreams& streams) {
    double tokens = 0;
    for (const std::size_t index : chosen) tokens += static_cast<double>(batch_[index].size());
    pool_.run([&](std::size_t worker) noexcept {
      Worker& own = *workers_[worker];
      for (std::size_t i = worker; i < chosen.size(); i += pool_.size()) {
        (void)run(own, chosen[i], first, second, streams);
        const MatrixView<float> dy{own.y.values.data(), batch_[chosen[i]].size(), own.y.columns};
        scale(static_cast<float>(1 / tokens), dy.rows * dy.columns, dy.data);
        own.block.backward({first.values(), second.values()}, dy, {slots_[i].first.view(), slots_[i].second.view()});
      }
    });
  }

  /// One step along the sum of the gradients of `count` sequences.
  void move(TunableRows& rows, Matrix Slot::* of, std::size_t count, const AdamStep& step) noexcept {
    for_row_blocks(pool_, rows.rows(), block_of_rows, [&](RowRange range) {
      for (std::size_t row = range.begin; row < range.end; ++row) {
        const std::span<float> sum = (slots_[0].*of).row(row);
        for (std::size_t i = 1; i < count; ++i) add((slots_[i].*of)[row], sum.size(), sum.data());
        rows.step(row, sum, step);
      }
    });
  }

  const RefinementPlan& plan_;
  const TokenBatch& batch_;
  std::size_t training_, end_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Slot> slots_;  // of the sequences of a step
};

}  // namespace tulle
