// SPDX-License-Identifier: Apache-2.0
/// \file What a compression did, and with which settings, as JSON (L5).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/held_out_scores.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/refinement_plan.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/core/content_hash.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// What compression did with one linear layer.
struct LayerReport {
  std::string name;
  std::size_t rows = 0, columns = 0;
  std::string form;  ///< "alps 8:16, descent int4 group 32"
  double sparsity = 0;
  double relative_error = 0;  ///< of its output on the same inputs, squared, with damping and before refinement
  double extra_damping = 0;   ///< that its Hessian needed beyond the plan's, in means of the diagonal
  double seconds = 0;
  std::size_t bytes = 0;  ///< codes and scales, or floats; zeros count
};

/// |x~ - x|^2 / |x|^2 of the residual stream after a decoder layer, mean over the tokens without the first of a
/// sequence.
struct BlockError {
  std::size_t layer = 0;
  double calibration = 0, held_out = 0;
};

/// A compressed model. Lifetime: the dense tensors must outlive it.
struct CompressedModel {
  std::shared_ptr<EditedTensors> folded;   ///< the dense model with its norms smoothed; what `tensors` is based on
  std::shared_ptr<EditedTensors> tensors;  ///< to be exported, or loaded
  std::vector<LayerReport> layers;
  std::vector<BlockError> block_errors;
  std::vector<RefinementReport> refinements;  ///< two a layer, where the plan refines
  HeldOutScores held_out;
  double seconds = 0;
  std::vector<std::string> notes;
};

/// The text of `LayerReport::form`.
inline std::string plan_text(const LayerPlan& plan) {
  std::string text;
  if (plan.pruning) {
    constexpr std::array methods{"alps", "sparsegpt", "wanda", "magnitude"};
    const SparsityStructure& structure = plan.pruning->structure;
    text = methods[static_cast<std::size_t>(plan.pruning->method)];
    if (structure.kind == SparsityStructure::Kind::balanced) {
      text += " " + std::to_string(structure.keep) + ":" + std::to_string(structure.of);
      if (structure.max_gap != 0) text += "-gap" + std::to_string(structure.max_gap);
    } else {
      text += " " + std::to_string(static_cast<int>(std::lround(plan.pruning->sparsity * 100))) + " %";
      if (structure.kind == SparsityStructure::Kind::row) text += " of a row";
    }
  }
  if (plan.quantization) {
    constexpr std::array methods{"nearest", "gptq", "descent"};
    const QuantizationPlan& values = *plan.quantization;
    text += text.empty() ? "" : ", ";
    text += values.jointly ? "jointly" : methods[static_cast<std::size_t>(values.method)];
    text += " int" + std::to_string(values.bits);
    if (values.group != 0) text += " group " + std::to_string(values.group);
    if (!values.symmetric) text += " with a minimum";
  }
  return text;
}

/// The whole of a plan: two plans that differ have different texts.
inline Json settings_json(const LayerPlan& plan) {
  Json json{{"target",
             {plan.target.alpha, plan.target.gamma, plan.target.row_weights, plan.target.sequential,
              plan.target.damping.diagonal, plan.target.damping.median, plan.target.damping.mean}}};
  if (plan.pruning) {
    const PruningPlan& pruning = *plan.pruning;
    json["pruning"] = {static_cast<int>(pruning.method),
                       pruning.sparsity,
                       static_cast<int>(pruning.structure.kind),
                       pruning.structure.keep,
                       pruning.structure.of,
                       pruning.structure.max_gap,
                       pruning.block_size,
                       pruning.keep_existing_zeros,
                       pruning.moves_channels()};
    if (pruning.owl) json["owl"] = {pruning.owl->outlier, pruning.owl->spread};
  }
  if (plan.quantization) {
    const QuantizationPlan& values = *plan.quantization;
    json["quantization"] = {static_cast<int>(values.method), values.bits,   values.group, values.symmetric,
                            values.searches_scale,           values.jointly};
  }
  return json;
}

inline Json settings_json(const StagePlan& plan) {
  Json layers = Json::object();
  for (const auto& [name, layer] : plan.layers) layers[name] = settings_json(layer);
  Json json{{"layers", layers}, {"embedding_bits", plan.embedding_bits}};
  if (plan.smooth_quant) {
    json["smooth_quant"] = {plan.smooth_quant->strength, plan.smooth_quant->is_logarithmic};
    for (const auto& mapping : plan.smooth_quant->mappings) {
      json["smooth_quant"].push_back({mapping.smoothed, mapping.balanced});
    }
  }
  if (plan.forms) {
    const FormRequest& request = *plan.forms;
    json["forms"] = {request.budget.bytes_per_weight.value_or(0), request.budget.speedup.value_or(0),
                     request.budget.form, request.layers};
    for (const MatrixForm& form : request.forms) json["forms"].push_back(std::string(form.name));
  }
  if (plan.refinement) {
    const RefinementPlan& refinement = *plan.refinement;
    json["refinement"] = {refinement.epochs, refinement.batch, refinement.rate, refinement.seed};
  }
  return json;
}

/// `content_hash` of all tokens and lengths, as text.
inline std::string checksum(std::span<const std::vector<Token>> sequences) {
  std::uint64_t hash = 0;
  for (const std::vector<Token>& sequence : sequences) {
    hash = content_hash(std::as_bytes(std::span(sequence)), hash);
  }
  return std::to_string(hash);
}

inline Json report_json(const LayerReport& layer) {
  return {{"name", layer.name},
          {"rows", layer.rows},
          {"columns", layer.columns},
          {"form", layer.form},
          {"sparsity", layer.sparsity},
          {"relative_error", layer.relative_error},
          {"extra_damping", layer.extra_damping},
          {"seconds", layer.seconds},
          {"bytes", layer.bytes}};
}

inline LayerReport layer_report(const Json& json) {
  return {json.at("name"),           json.at("rows"),          json.at("columns"), json.at("form"), json.at("sparsity"),
          json.at("relative_error"), json.at("extra_damping"), json.at("seconds"), json.at("bytes")};
}

inline Json report_json(const RefinementReport& half) {
  return {{"layer", half.layer},   {"half", half.is_attention ? "attention" : "mlp"},
          {"before", half.before}, {"after", half.after},
          {"epoch", half.epoch},   {"seconds", half.seconds}};
}

inline RefinementReport refinement_report(const Json& json) {
  return {json.at("layer"),  json.at("half") == "attention", json.at("before"), json.at("after"), json.at("epoch"),
          json.at("seconds")};
}

inline Json report_json(const BlockError& error) {
  return {{"layer", error.layer}, {"calibration", error.calibration}, {"held_out", error.held_out}};
}

inline Json report_json(const HeldOutScores& scores) {
  return {{"tokens", scores.tokens},
          {"dense_perplexity", scores.dense_perplexity},
          {"perplexity", scores.perplexity},
          {"ratio", scores.ratio},
          {"ratio_standard_error", scores.ratio_standard_error},
          {"kl_divergence", scores.kl_divergence},
          {"same_top1", scores.same_top1}};
}

inline Json report_json(const CompressedModel& model) {
  Json json{
      {"layers", Json::array()}, {"block_error", Json::array()}, {"seconds", model.seconds}, {"notes", model.notes}};
  for (const LayerReport& layer : model.layers) json["layers"].push_back(report_json(layer));
  for (const BlockError& error : model.block_errors) json["block_error"].push_back(report_json(error));
  for (const RefinementReport& half : model.refinements) json["refinement"].push_back(report_json(half));
  if (model.held_out.tokens != 0) json["evaluation"] = report_json(model.held_out);
  return json;
}

}  // namespace tulle
