// SPDX-License-Identifier: Apache-2.0
/// \file The measurements of `tulle benchmark`, in words and tables.
#pragma once

#include <string>
#include <tulle/core/json.hpp>
#include <utility>
#include <vector>

#include "text_table.hpp"

/// A name and its value. `report`, here and below: from `benchmark_report`.
using Fact = std::pair<std::string, std::string>;

/// Machine, settings, and the comparison of the model with its baselines.
std::vector<Fact> benchmark_facts(const nlohmann::ordered_json& report);

TableRows result_table(const nlohmann::ordered_json& report);

/// Cost of passes over several rows; empty where none were measured.
TableRows verification_table(const nlohmann::ordered_json& report);
inline constexpr const char* verification_title = "A pass over several rows of one sequence, in passes over one row";

/// Speed-ups, measured and predicted; empty without a draft model.
TableRows speculation_table(const nlohmann::ordered_json& report);
std::string speculation_title(const nlohmann::ordered_json& report);

/// "median (min-max)" of {"median", "least", "most"}.
std::string spread_text(const nlohmann::ordered_json& spread, int digits);
