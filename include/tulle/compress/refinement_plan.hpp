// SPDX-License-Identifier: Apache-2.0
/// \file How compressed blocks are tuned, and what that gave (L5).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tulle {

/// Block reconstruction (arXiv:2406.15524, 2402.12419): the values that are left move, masks stay.
struct RefinementPlan {
  std::size_t epochs = 4;  ///< passes over the sequences
  std::size_t batch = 2;   ///< sequences a step
  double rate = 0.005;     ///< length of a step, in sizes (roots of mean squares) of a matrix's values
  std::uint64_t seed = 0;  ///< of the order of the sequences

  bool operator==(const RefinementPlan&) const = default;
};

/// Of half a decoder layer: |y - y~|^2 / |y|^2 of the residual stream behind it, mean over the tokens of sequences that
/// nothing was fitted to.
struct RefinementReport {
  std::size_t layer = 0;
  bool is_attention = false;
  double before = 0, after = 0;
  std::size_t epoch = 0;  ///< that gave the best state; 0: the matrices stayed as they were
  double seconds = 0;
};

}  // namespace tulle
