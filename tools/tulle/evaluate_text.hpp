// SPDX-License-Identifier: Apache-2.0
/// \file The report of `tulle evaluate` as text.
#pragma once

#include <string>
#include <tulle/core/json.hpp>

/// A line for every number, with its standard error. `report`: as --json prints it.
std::string evaluation_text(const nlohmann::ordered_json& report);
