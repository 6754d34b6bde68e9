// SPDX-License-Identifier: Apache-2.0
/// \file The names of modifiers that recipes may hold (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <tulle/compress/recipe_arguments.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle::detail {

inline constexpr std::array<std::string_view, 12> modifier_types{
    "AlpsModifier",         "SparseGPTModifier",
    "WandaPruningModifier", "MagnitudePruningModifier",
    "PlanModifier",         "RefineModifier",
    "DescentModifier",      "QuantizationModifier",
    "GPTQModifier",         "LegacyQuantizationModifier",
    "SmoothQuantModifier",  "LogarithmicEqualizationModifier"};

/// Modifiers of the other tools that have no counterpart.
inline constexpr std::array<std::string_view, 9> absent_modifier_types{"AWQModifier",
                                                                       "AutoRoundModifier",
                                                                       "SpinQuantModifier",
                                                                       "QuIPModifier",
                                                                       "REAPModifier",
                                                                       "ConstantPruningModifier",
                                                                       "OutputDistillationModifier",
                                                                       "EpochRangeModifier",
                                                                       "LearningRateFunctionModifier"};

/// QuantizationModifier, or the one of SparseML 1.8 that has the form which SparseML 1.7 had for it.
inline bool is_quantization_type(std::string_view name) {
  return name == "QuantizationModifier" || name == "LegacyQuantizationModifier";
}

/// Errors: unsupported for those of the other tools; invalid_argument for others that are not known, with the nearest.
inline void require_modifier_type(std::string_view name, std::string_view where, std::size_t line) {
  if (std::find(modifier_types.begin(), modifier_types.end(), name) != modifier_types.end()) return;
  if (std::find(absent_modifier_types.begin(), absent_modifier_types.end(), name) != absent_modifier_types.end()) {
    fail_at(ErrorCode::unsupported, where, line, name, " is not available", suggestion("", modifier_types));
  }
  fail_at(ErrorCode::invalid_argument, where, line, "unknown modifier ", quoted_name(name),
          suggestion(name, modifier_types));
}

}  // namespace tulle::detail
