// SPDX-License-Identifier: Apache-2.0
/// \file Linear layers that read the same inputs, solved as a plan says (L5).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/compression_report.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/layer_solver.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/compress/solved_matrix.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/matrix.hpp>
#include <tulle/tensor/sparsity.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Errors: malformed, always.
[[noreturn]] inline void fail_not_finite(const std::string& layer) {
  fail(ErrorCode::malformed, "tensor \"", layer, ".weight\" has a weight that is NaN or infinite");
}

/// Threads: one call at a time.
class PlannedSolver {
 public:
  using StatisticsOf = std::function<LayerStatistics(const TargetPlan&)>;

  /// `tensors`: the weights to solve. All must outlive the object.
  PlannedSolver(const TensorSource& tensors, const StagePlan& plan, ThreadPool& pool)
      : tensors_(tensors), plan_(plan), pool_(pool) {}

  /// What the plan wants of a layer; nullptr: nothing.
  const LayerPlan* plan_of(const std::string& name) const {
    const auto found = plan_.layers.find(name);
    return found == plan_.layers.end() ? nullptr : &found->second;
  }

  /// New matrices of layers that read the same, of which those with the same plan are solved together.
  NamedMatrices solve(const std::vector<std::string>& names, const StatisticsOf& statistics,
                      std::vector<LayerReport>& reports) {
    NamedMatrices result;
    for (std::size_t first = 0; first < names.size(); ++first) {
      const LayerPlan* plan = plan_of(names[first]);
      const auto is_same = [&](std::size_t i) { return plan_of(names[i]) != nullptr && *plan_of(names[i]) == *plan; };
      std::size_t earlier = 0;
      while (plan != nullptr && earlier < first && !is_same(earlier)) ++earlier;
      if (plan == nullptr || earlier < first) continue;  // left as it is, or solved with an earlier one
      std::vector<std::string> together;
      for (std::size_t i = first; i < names.size(); ++i) {
        if (is_same(i)) together.push_back(names[i]);
      }
      solve_together(together, *plan, statistics, result, reports);
    }
    return result;
  }

 private:
  void solve_together(const std::vector<std::string>& names, const LayerPlan& plan, const StatisticsOf& statistics_of,
                      NamedMatrices& result, std::vector<LayerReport>& reports) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::shared_ptr<const WeightSource>> sources;
    std::vector<std::size_t> parts;
    std::size_t rows = 0;
    for (const std::string& name : names) {
      sources.push_back(tensors_.matrix(name));
      if (sources.back() == nullptr) fail(ErrorCode::not_found, "the checkpoint has no \"", name, ".weight\"");
      parts.push_back(sources.back()->rows());
      rows += parts.back();
    }
    BasicMatrix<float> weights(rows, sources.front()->columns());
    const StackedRows stacked(sources);
    for (std::size_t row = 0; row < rows; ++row) stacked.decode_row(row, weights[row]);
    std::size_t begin_of_part = 0;
    for (std::size_t i = 0; i < names.size(); begin_of_part += parts[i], ++i) {
      for (std::size_t row = 0; row < parts[i]; ++row) {
        const std::span<const float> values(weights[begin_of_part + row], sources.front()->columns());
        if (std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) continue;
        fail_not_finite(names[i]);
      }
    }
    const LayerStatistics statistics = statistics_of(plan.target);
    const CompressedLayer<float> solved = solve_layer(names, std::move(weights), parts, statistics, plan);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::size_t first = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto matrix = solved_matrix(solved, {first, first + parts[i]}, plan, stored_type(*sources[i]));
      first += parts[i];
      const Sparsity sparsity = measure_sparsity(*matrix);
      reports.push_back({names[i], matrix->rows(), matrix->columns(), plan_text(plan), sparsity.share(),
                         solved.relative_error, solved.extra_damping,
                         seconds * static_cast<double>(parts[i]) / static_cast<double>(rows), matrix->size_bytes()});
      result.emplace_back(names[i], std::move(matrix));
    }
  }

  CompressedLayer<float> solve_layer(const std::vector<std::string>& names, BasicMatrix<float> weights,
                                     const std::vector<std::size_t>& parts, const LayerStatistics& statistics,
                                     const LayerPlan& plan) {
    try {
      return LayerSolver<float>(std::move(weights), parts, statistics, plan, pool_).solve();
    } catch (const Error& error) {
      fail(error.code(), names.front(), ": ", error.what());
    }
  }

  const TensorSource& tensors_;
  const StagePlan& plan_;
  ThreadPool& pool_;
};

}  // namespace tulle
