// SPDX-License-Identifier: Apache-2.0
/// \file Which drafter an engine gets, by name (L4).
#pragma once

#include <string>

#include <tulle/generate/speculation.hpp>

namespace tulle {

struct DraftOptions {
  /// "ngram": copies what followed the end of the text before (`NgramDrafter`).
  /// "prediction": copies `prediction` (`PredictionDrafter`).
  /// "self:KERNEL": the model itself with other weights, requantized in memory: "self:i8", "self:i4", or a sparse
  /// pattern to which it is pruned by magnitude, "self:8:16_gap4_i4".
  /// A path: another model with the same tokens (of the hub: `with_local_path`).
  /// FIRST+SECOND: FIRST drafts for SECOND, which is "self:KERNEL" or, where FIRST is "ngram", a path.
  /// Empty: no drafts.
  std::string drafter = {};
  std::string prediction = {};  ///< the text that is expected
  SpeculationOptions speculation = {};
};

}  // namespace tulle
