// SPDX-License-Identifier: Apache-2.0
/// \file Logits that no model should give.
#pragma once

#include <limits>

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
