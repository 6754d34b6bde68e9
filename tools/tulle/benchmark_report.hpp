// SPDX-License-Identifier: Apache-2.0
/// \file The report of `tulle benchmark`, as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/json.hpp>
#include <vector>

#include "benchmark_run.hpp"
#include "benchmark_speculation.hpp"

/// The commit that this program was built from; tools/CMakeLists.txt writes it into a source file.
extern const char* const source_commit;

/// What was measured; the first contestant is the model, the others are what it is compared with.
struct BenchmarkResult {
  std::string model;      ///< as it was given
  std::string path;       ///< of its file; a shape has none
  std::string caveat;     ///< why its text has no meaning; empty for an unchanged model
  std::string structure;  ///< of the sparsity, whose share is `sparsity`
  double sparsity;
  nlohmann::ordered_json flags;  ///< as they were given: name to value
  BenchmarkPlan plan;
  std::size_t threads;
  bool pinned;                          ///< the threads to cores
  std::vector<Contestant> contestants;  ///< the last is the draft model, where there is one
  std::string draft_shape = {};         ///< empty: no draft model
  SpeculationPlan speculation_plan = {};
  std::vector<SpeculationRun> speculation = {};
};

/// DeepSparse's keys, then "machine", "commit", "flags", "settings", "results", "ratios" and, with a draft
/// model, "speculation".
nlohmann::ordered_json benchmark_report(const BenchmarkResult& result);
