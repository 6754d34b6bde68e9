// SPDX-License-Identifier: Apache-2.0
/// \file The definition of `score_forms` (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/compress/plan/form_losses.hpp>
#include <tulle/compress/plan/score_forms.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/compress/work_directory.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/kept_weights.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

TULLE_COMPRESS_INLINE std::vector<LayerLosses> score_forms(const TensorSource& dense, const Architecture& described,
                                                           std::span<const std::vector<Token>> sequences,
                                                           const FormRequest& request,
                                                           const CompressionOptions& options) {
  constexpr std::size_t max_calibration = 32, max_unseen = 16;
  if (sequences.size() <= options.held_out) {
    fail(ErrorCode::invalid_argument, "the dataset has ", sequences.size(), " sequences, of which ", options.held_out,
         " are held out; give more text, or shorter sequences");
  }
  for (const LayerSpec& layer : described.layers) {
    if (layer.is_mixture()) {
      fail(ErrorCode::unsupported,
           "a plan of forms is not available for mixtures of experts; give a recipe, or "
           "--structure, --sparsity and --bits");
    }
  }
  const std::span<const std::vector<Token>> known = sequences.first(sequences.size() - options.held_out);
  const std::size_t unseen = known.size() < 2 ? 0 : std::clamp<std::size_t>(known.size() / 4, 1, max_unseen);
  const std::size_t calibration = std::min(max_calibration, known.size() - unseen);
  std::vector<std::vector<Token>> used(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(calibration));
  used.insert(used.end(), known.end() - static_cast<std::ptrdiff_t>(unseen), known.end());
  const TokenBatch batch = batch_for(described, used);
  const Architecture model = model_for(described, batch);
  ThreadPool pool(options.threads);
  std::optional<WorkDirectory> work;
  Json settings = options.settings;
  settings["scores"] = 2;                      // what is kept of a layer
  settings["layouts"] = kept_weights_version;  // and its bytes are those of packed matrices
  if (!options.work_directory.empty()) work.emplace(options.work_directory, settings);

  std::vector<std::size_t> planned;  // layers of which something is
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const bool any = std::any_of(layer_roles.begin(), layer_roles.end(), [&](LinearRole role) {
      return !names_of_item(model, layer, role, request.layers).empty();
    });
    if (any) planned.push_back(layer);
  }
  const std::size_t factors_of = planned.empty() ? 0 : planned[planned.size() / 2];
  FormScorer scorer(model, dense, batch, calibration, request.forms, pool);
  std::vector<LayerLosses> losses;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const bool is_done = work && work->has(layer);
    LayerLosses made = scorer.score(layer, request.layers, layer == factors_of, is_done);
    if (is_done) made = layer_losses(work->report(layer));
    if (work && !is_done) work->save(layer, {}, losses_json(made));
    losses.push_back(std::move(made));
    if (options.progress) {
      options.progress("scoring forms", static_cast<double>(layer + 1) / static_cast<double>(model.layers.size()));
    }
  }
  return losses;
}

}  // namespace tulle
