// SPDX-License-Identifier: Apache-2.0
/// \file The text output of `tulle benchmark`.
#pragma once

#include <string>
#include <tulle/core/json.hpp>

/// DeepSparse's lines, then facts and tables. `report`, here and below: from `benchmark_report`.
std::string benchmark_text(const nlohmann::ordered_json& report);

/// The same without DeepSparse's lines, to paste into a document.
std::string benchmark_markdown(const nlohmann::ordered_json& report);
