// SPDX-License-Identifier: Apache-2.0
/// \file The forms that a plan chose, as a chart of layers by matrices.
#pragma once

#include <string>

#include "report_tables.hpp"

/// A section with the chart, and tables of the budget and of each form used everywhere; nothing without a plan.
std::string plan_section(const CompressionReport& report);
