// SPDX-License-Identifier: Apache-2.0
/// \file Linear layers over the rows of a batch, on all threads of a pool (L3).
#pragma once

#include <cstddef>

#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// Holds the activations of one layer at a time, in the forms that its kernels read. Threads: one call at a time.
template <LinearKernel Kernel>
class LinearRunner {
 public:
  /// Room for `max_rows` rows of `max_columns`. `pool` must outlive the runner. Errors: memory.
  LinearRunner(ThreadPool& pool, std::size_t max_rows, std::size_t max_columns)
      : pool_(pool), input_(max_rows, max_columns) {}

  std::size_t size_bytes() const noexcept { return input_.size_bytes(); }
  ThreadPool& pool() noexcept { return pool_; }

  /// Prepares the activations x for a linear layer: in every form that one of its parts reads.
  void prepare(const Linear<Kernel>& linear, MatrixView<float> x) noexcept {
    const auto& first = linear.parts.front().weights;
    for (const auto& part : linear.parts) {
      if (&part.weights != &first && Kernel::shares_input(first, part.weights)) continue;
      Kernel::start(part.weights, x.rows, input_);
      for_rows(pool_, x.rows, [&](std::size_t begin, std::size_t end) noexcept {
        Kernel::prepare(part.weights, x, input_, {begin, end});
      });
    }
  }

  /// y = x W^T + bias of what was prepared; every worker computes a share of the output rows. `then(begin, end)` runs
  /// on that share, or, where the weights have their rows in another order, on an equal one when all are there.
  template <class Then>
  void multiply(const Linear<Kernel>& linear, MatrixView<float> y, Then&& then) noexcept {
    pool_.run([&](std::size_t worker) noexcept {
      for (const auto& part : linear.parts) {
        const RowRange share = row_share(part.weights, y.rows, worker, pool_.size());
        if (share.begin == share.end) continue;
        Kernel::multiply(part.weights, input_, {y.data + part.first_row, y.rows, y.columns, y.stride}, share);
        if (is_in_order(part.weights))
          finish(linear, part.first_row + share.begin, part.first_row + share.end, y, then);
      }
    });
    for (const auto& part : linear.parts) {
      if (is_in_order(part.weights)) continue;
      constexpr std::size_t few = 4;  // rows of activations, which this thread alone finishes sooner
      const std::size_t rows = part.weights.rows();
      const auto work = [&](std::size_t begin, std::size_t end) noexcept {
        finish(linear, part.first_row + begin, part.first_row + end, y, then);
      };
      for_rows(pool_, rows, work, y.rows < few ? rows : panel_rows);
    }
  }
  void multiply(const Linear<Kernel>& linear, MatrixView<float> y) noexcept {
    multiply(linear, y, [](std::size_t, std::size_t) noexcept {});
  }

 private:
  template <class Then>
  static void finish(const Linear<Kernel>& linear, std::size_t begin, std::size_t end, MatrixView<float> y,
                     Then& then) noexcept {
    if (!linear.bias.empty()) {
      for (std::size_t row = 0; row < y.rows; ++row) add(linear.bias.data() + begin, end - begin, y[row] + begin);
    }
    then(begin, end);
  }

  ThreadPool& pool_;
  typename Kernel::Input input_;
};

}  // namespace tulle
