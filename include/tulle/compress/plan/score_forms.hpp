// SPDX-License-Identifier: Apache-2.0
/// \file Scores every form of every matrix of a model; interrupted work goes on (L5).
#pragma once

#include <span>
#include <vector>

#include <tulle/compress/compiled.hpp>
#include <tulle/compress/compress.hpp>
#include <tulle/compress/plan/form_losses.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/core/types.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// Losses of all decoder layers, whose forms `request` lists. Of `sequences` without the last `options.held_out`, which
/// are not read, a quarter, at most 16, is the text on which losses are measured; at most 32 of the others make the
/// statistics. Deterministic, as `compress` is.
/// Errors: unsupported for mixtures of experts; those of `compress`.
TULLE_COMPRESS_INLINE std::vector<LayerLosses> score_forms(const TensorSource& dense, const Architecture& model,
                                                           std::span<const std::vector<Token>> sequences,
                                                           const FormRequest& request,
                                                           const CompressionOptions& options = {});

}  // namespace tulle

#ifndef TULLE_COMPRESS_COMPILED
#include <tulle/compress/plan/score_forms_inline.hpp>
#endif
