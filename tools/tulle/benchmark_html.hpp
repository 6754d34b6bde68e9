// SPDX-License-Identifier: Apache-2.0
/// \file The page that `tulle benchmark --html` writes.
#pragma once

#include <string>
#include <tulle/core/json.hpp>

/// A self-contained page: facts, tables, and charts as inline SVG. `report`: from `benchmark_report`.
std::string benchmark_html(const nlohmann::ordered_json& report);
