// SPDX-License-Identifier: Apache-2.0
/// \file The flags of `tulle compress`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/format/checkpoint.hpp>
#include <vector>

#include "calibration.hpp"
#include "tools/tulle/command_line.hpp"

struct CompressFlags {
  std::string model, directory, recipe, structure, allocation = "auto", form = "compressed-tensors";
  std::optional<double> sparsity;
  tulle::FormBudget budget;
  bool survey = false;
  std::string second;
  std::vector<std::string> references, cells;
  std::size_t bits = 16, threads = 0;
  std::vector<std::string> variables;
  std::vector<tulle::AdapterPath> adapters;
  CalibrationFlags calibration;
  bool refine = false, force = false, json = false, quiet = false;

  /// Whether the form of each matrix is to be chosen.
  bool has_budget() const noexcept { return budget.bytes_per_weight || budget.speedup; }

  void add_to(CLI::App& app);

  /// Errors: UsageError for flags that are missing or do not go together.
  void check() const;
};
