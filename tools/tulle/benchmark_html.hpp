// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle benchmark` writes with --html.
#pragma once

#include <string>
#include <tulle/core/json.hpp>

/// A page that needs nothing but itself: facts, tables, and charts as inline SVG. `report`: from `benchmark_report`.
std::string benchmark_html(const nlohmann::ordered_json& report);
