// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle benchmark` tells, as JSON and as text.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/json.hpp>
#include <vector>

#include "benchmark_run.hpp"

/// What was measured; the first contestant is the model, the others are what it is compared with.
struct BenchmarkResult {
  std::string model;   ///< as it was given
  std::string path;    ///< of its file; a shape has none
  std::string caveat;  ///< why its text is worth nothing; empty for a model as it is
  std::string structure;  ///< of the zeros, with `sparsity` their share
  double sparsity;
  BenchmarkPlan plan;
  std::size_t threads;
  std::vector<Contestant> contestants;
};

/// DeepSparse's keys, then "machine", "commit", "settings", "results" and "ratios".
nlohmann::ordered_json benchmark_report(const BenchmarkResult& result);

/// DeepSparse's lines, then a table.
std::string benchmark_text(const nlohmann::ordered_json& report);
