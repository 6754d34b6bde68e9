// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle benchmark` measured, in words and tables.
#pragma once

#include <string>
#include <tulle/core/json.hpp>
#include <utility>
#include <vector>

#include "text_table.hpp"

/// A name and what is to be said of it. `report`, here and below: from `benchmark_report`.
using Fact = std::pair<std::string, std::string>;

/// Where it was measured, with what, and how the model compares with its baselines.
std::vector<Fact> benchmark_facts(const nlohmann::ordered_json& report);

TableRows result_table(const nlohmann::ordered_json& report);

/// What passes over several rows cost; without rows where none were measured.
TableRows verification_table(const nlohmann::ordered_json& report);
inline constexpr const char* verification_title = "A pass over several rows of one sequence, in passes over one row";

/// "median (least-most)" of {"median", "least", "most"}.
std::string spread_text(const nlohmann::ordered_json& spread, int digits);
