// SPDX-License-Identifier: Apache-2.0
/// \file What a step of a generator did (L4).
#pragma once

#include <cstddef>
#include <span>

#include <tulle/generate/sequence.hpp>

namespace tulle {

struct StepReport {
  std::size_t rows = 0;                 ///< that went through the model
  std::span<const Emission> emissions;  ///< tokens and ends, in the plan's order; valid until the next step
};

}  // namespace tulle
