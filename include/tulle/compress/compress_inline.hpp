// SPDX-License-Identifier: Apache-2.0
/// \file The definition of `compress` (L5).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/block_compressor.hpp>
#include <tulle/compress/compress.hpp>
#include <tulle/compress/compression_report.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/owl_sparsities.hpp>
#include <tulle/compress/planned_solver.hpp>
#include <tulle/compress/quantizer.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/compress/work_directory.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

namespace detail {

/// Every weight by the nearest code: for layers outside of the decoder layers, of which nothing is measured.
/// Errors: malformed for weights that are not finite.
inline std::shared_ptr<const WeightSource> round_matrix(const std::string& name, const WeightSource& rows,
                                                        const QuantizationPlan& plan, ThreadPool& pool) {
  const std::size_t n = rows.columns(), groups = scale_groups(plan, n), width = plan.group == 0 ? n : plan.group;
  OwnedCodes made;
  made.codes.resize(rows.rows() * n);
  made.scales.resize(rows.rows() * groups);
  if (!plan.symmetric) made.minimums.resize(rows.rows() * groups);
  std::vector<std::vector<float>> buffers(pool.size(), std::vector<float>(n));
  std::atomic<bool> is_finite = true;
  pool.run([&](std::size_t worker) noexcept {
    std::vector<float>& values = buffers[worker];
    for (std::size_t row = worker; row < rows.rows(); row += pool.size()) {
      rows.decode_row(row, values.data());
      if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
        is_finite = false;
        continue;
      }
      for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t begin = group * width, end = std::min(n, begin + width), at = row * groups + group;
        const CodeScale<float> scale = find_scale<float>({values.data() + begin, end - begin}, nullptr, plan);
        made.scales[at] = scale.scale;
        if (!plan.symmetric) made.minimums[at] = scale.value(0);
        for (std::size_t j = begin; j < end; ++j) {
          made.codes[row * n + j] = static_cast<std::int8_t>(scale.code(values[j]));
        }
      }
    }
  });
  if (!is_finite) fail_not_finite(name);
  return matrix_of_codes(rows.rows(), n, {.bits = plan.bits, .group = plan.group}, std::move(made));
}

/// By which outliers are found.
inline constexpr std::size_t owl_sequences = 16;

/// Errors: unsupported for what cannot be refined; invalid_argument for too few sequences.
inline void require_refinable(const Architecture& model, const StagePlan& plan, std::size_t calibration) {
  if (!plan.refinement) return;
  if (calibration < 2) {
    fail(ErrorCode::invalid_argument, "refinement needs 2 sequences or more beside those that are held out");
  }
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    if (model.layers[layer].is_mixture() || !has_backward(model.layers[layer].mlp)) {
      fail(ErrorCode::unsupported, "a mixture of experts (", model.layer_prefix(layer),
           ") cannot be refined; compress without refinement");
    }
  }
  for (const auto& [name, layer] : plan.layers) {
    if (!layer.target.sequential && name != model.names.head) {
      fail(ErrorCode::unsupported, name, ": refinement needs sequential_update: true, or another modifier where this ",
           "one has no such argument");
    }
  }
}

/// What a plan wants of the head, and of the embedding.
inline void compress_ends(const TensorSource& dense, const Architecture& model, const StagePlan& plan, ThreadPool& pool,
                          CompressedModel& result) {
  if (plan.embedding_bits == 8) {
    result.tensors->replace(model.names.embedding,
                            round_matrix(model.names.embedding, *dense.matrix(model.names.embedding),
                                         {.bits = 8, .searches_scale = false}, pool));
  }
  const auto head = plan.layers.find(model.names.head);
  if (model.tied_head || head == plan.layers.end()) return;
  const auto& quantization = head->second.quantization;
  if (!quantization) return;
  result.notes.push_back(model.names.head + " is rounded to the nearest codes, without calibration");
  result.tensors->replace(model.names.head,
                          round_matrix(model.names.head, *dense.matrix(model.names.head), *quantization, pool));
}

}  // namespace detail

TULLE_COMPRESS_INLINE CompressedModel compress(const TensorSource& dense, const Architecture& described,
                                               std::span<const std::vector<Token>> sequences, const StagePlan& wanted,
                                               const CompressionOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (sequences.size() <= options.held_out) {
    fail(ErrorCode::invalid_argument, "the dataset has ", sequences.size(), " sequences, of which ", options.held_out,
         " are held out; give more text, or shorter sequences");
  }
  if (wanted.forms) {
    fail(ErrorCode::state, "the forms of the plan are not chosen yet (score_forms, plan_forms, set_forms)");
  }
  detail::require_refinable(described, wanted, sequences.size() - options.held_out);
  const TokenBatch batch = batch_for(described, sequences);
  const Architecture model = model_for(described, batch);
  ThreadPool pool(options.threads);
  const std::size_t measured = std::min(detail::owl_sequences, sequences.size() - options.held_out);
  const TokenBatch measured_batch(sequences.first(measured), model.vocabulary);
  const StagePlan plan = with_owl_sparsities(wanted, dense, model, measured_batch, pool);
  std::optional<WorkDirectory> work;
  if (!options.work_directory.empty()) work.emplace(options.work_directory, options.settings);

  CompressedModel result;
  result.folded = std::make_shared<EditedTensors>(&dense);
  result.tensors = std::make_shared<EditedTensors>(result.folded.get());
  result.notes = plan.notes;
  detail::compress_ends(dense, model, plan, pool, result);
  BlockCompressor compressor(model, *result.folded, *result.tensors, batch, sequences.size() - options.held_out, plan,
                             options.input_bytes, pool);
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const bool known = work && work->has(layer);
    std::vector<LayerReport> reports;
    std::vector<RefinementReport> refinements;
    if (known) {
      for (auto& [name, matrix] : work->load(layer)) result.tensors->replace(name, std::move(matrix));
      const Json saved = work->report(layer);
      for (const Json& report : saved.at("layers")) reports.push_back(layer_report(report));
      for (const Json& report : saved.at("refinement")) refinements.push_back(refinement_report(report));
    }
    std::vector<LayerReport> made;
    result.block_errors.push_back(compressor.compress(layer, known, made, refinements));
    if (!known) {
      reports = std::move(made);
      Json saved{{"layers", Json::array()}, {"refinement", Json::array()}};
      for (const RefinementReport& report : refinements) saved["refinement"].push_back(report_json(report));
      NamedMatrices matrices;
      for (const LayerReport& report : reports) {
        saved["layers"].push_back(report_json(report));
        matrices.emplace_back(report.name, result.tensors->matrix(report.name));
      }
      if (work) {
        work->save(layer, matrices, saved);
        // From now on over the file, so that memory holds one layer.
        for (auto& [name, matrix] : work->load(layer)) result.tensors->replace(name, std::move(matrix));
      }
    }
    result.layers.insert(result.layers.end(), reports.begin(), reports.end());
    result.refinements.insert(result.refinements.end(), refinements.begin(), refinements.end());
    if (options.progress) {
      options.progress("compressing", static_cast<double>(layer + 1) / static_cast<double>(model.layers.size()));
    }
  }
  result.held_out = compressor.score();
  for (const LayerReport& layer : result.layers) {
    if (layer.extra_damping == 0) continue;
    result.notes.push_back(layer.name + ": its inputs were nearly dependent, so damping was raised by " +
                           std::to_string(layer.extra_damping) + " of the diagonal's mean");
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tulle
