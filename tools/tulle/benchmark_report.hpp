// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle benchmark` tells, as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/json.hpp>
#include <vector>

#include "benchmark_run.hpp"

/// What was measured; the first contestant is the model, the others are what it is compared with.
struct BenchmarkResult {
  std::string model;      ///< as it was given
  std::string path;       ///< of its file; a shape has none
  std::string caveat;     ///< why its text is worth nothing; empty for a model as it is
  std::string structure;  ///< of the zeros, with `sparsity` their share
  double sparsity;
  nlohmann::ordered_json flags;  ///< as they were given: name to value
  BenchmarkPlan plan;
  std::size_t threads;
  bool pinned;  ///< the threads to cores
  std::vector<Contestant> contestants;
};

/// DeepSparse's keys, then "machine", "commit", "flags", "settings", "results" and "ratios".
nlohmann::ordered_json benchmark_report(const BenchmarkResult& result);
