// SPDX-License-Identifier: Apache-2.0
/// \file Compresses a model: a recipe's plan, calibration tokens and a dense checkpoint in, sparse and quantized weights
/// out (L5).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tulle/compress/compiled.hpp>
#include <tulle/compress/compression_report.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/types.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

struct CompressionOptions {
  std::size_t held_out = 0;        ///< of the sequences, the last ones only measure the error
  std::string work_directory;      ///< keeps every decoder layer that is done; empty: memory alone
  Json settings = Json::object();  ///< what else must be the same when the work is taken up again
  std::size_t threads = 0;         ///< 0: one per core that the process may use. The result does not depend on it
  /// Of each of the two models, memory for what layers read of the calibration tokens. Where that is more, the tokens go
  /// through them in groups, some computations are done twice, and low bits are others.
  std::size_t input_bytes = std::size_t{3} << 29;
  Progress progress{};
};

/// Compresses the linear layers of `plan`, one decoder layer in memory at a time. `sequences` are calibration tokens,
/// and the last `options.held_out` of them unseen ones. Deterministic: the same bytes for the same arguments on one
/// kind of CPU, whatever the threads and interruptions.
/// Memory: three residual streams [tokens, hidden] (five where the plan refines), twice `options.input_bytes` at most, one
/// decoder layer and its statistics.
/// Errors: invalid_argument for sequences or a plan that do not fit; malformed for weights that are not finite; io;
/// memory.
TULLE_COMPRESS_INLINE CompressedModel compress(const TensorSource& dense, const Architecture& model,
                                               std::span<const std::vector<Token>> sequences, const StagePlan& wanted,
                                               const CompressionOptions& options = {});

}  // namespace tulle

#ifndef TULLE_COMPRESS_COMPILED
#include <tulle/compress/compress_inline.hpp>
#endif
