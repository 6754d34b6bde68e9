// SPDX-License-Identifier: Apache-2.0
/// \file Which rows of a product each worker computes (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>

#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle {

/// The rows of worker `worker` of `workers`, in whole panels that together cost about as much as every other worker's.
/// `before(panel)`: what panels 0 ... panel - 1 cost; called for at most the number of panels.
template <class Before>
RowRange share_by_cost(std::size_t rows, std::size_t worker, std::size_t workers, Before&& before) noexcept {
  const std::size_t panels = round_up(rows, panel_rows) / panel_rows;
  const auto boundary = [&](std::size_t index) {
    if (index == workers) return rows;  // also panels at the end that cost nothing
    const std::size_t wanted = before(panels) * index / workers;
    const auto all = std::views::iota(std::size_t{0}, panels);
    const auto found = std::ranges::partition_point(all, [&](std::size_t panel) { return before(panel) < wanted; });
    return std::min(static_cast<std::size_t>(found - all.begin()) * panel_rows, rows);
  };
  return {boundary(worker), boundary(worker + 1)};
}

/// The output rows that worker `worker` of `workers` computes in a product with `inputs` rows of activations:
/// `weights.share(inputs, worker, workers)` where the weights have it (their rows differ in cost), else equal shares.
template <class Weights>
RowRange row_share(const Weights& weights, std::size_t inputs, std::size_t worker, std::size_t workers) noexcept {
  if constexpr (requires { weights.share(inputs, worker, workers); }) {
    return weights.share(inputs, worker, workers);
  } else {
    const Share share = share_of(weights.rows(), panel_rows, worker, workers);
    return {share.begin, share.end};
  }
}

/// Whether a share writes the rows of y that are its range. Else the shares of all workers together write all of y, each
/// rows anywhere: `weights.is_in_order()`, where the weights have it. (In WebAssembly no weights move their rows.)
template <class Weights>
bool is_in_order(const Weights& weights) noexcept {
  if constexpr (!is_web && requires { weights.is_in_order(); }) {
    return weights.is_in_order();
  } else {
    return true;
  }
}

}  // namespace tulle
