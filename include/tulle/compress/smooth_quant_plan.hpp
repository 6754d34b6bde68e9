// SPDX-License-Identifier: Apache-2.0
/// \file Which layers SmoothQuant scales against each other (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/modifier.hpp>
#include <tulle/compress/module_list.hpp>
#include <tulle/compress/recipe_targets.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// With activations of channel j up to x_j and weights of its columns up to w_j, column j of `balanced` is multiplied,
/// and row j of `smoothed` divided, by x_j^strength / w_j^(1 - strength) (Xiao et al. 2023, equation 4), or by
/// x_j / log2(2 + x_j) where `is_logarithmic`.
struct SmoothQuantPlan {
  struct Mapping {
    std::vector<std::string> balanced;  ///< names of linear layers
    std::string smoothed;               ///< name of a norm or linear layer

    bool operator==(const Mapping&) const = default;
  };
  double strength = 0.5;
  bool is_logarithmic = false;
  std::vector<Mapping> mappings;  ///< in the order of the layers

  bool operator==(const SmoothQuantPlan&) const = default;
};

namespace detail {

/// Of a norm among the modules [layer.begin, layer.end) of a decoder layer: what is balanced must be all that reads it,
/// as else the model would compute something else. Errors: invalid_argument.
inline void require_readers(const ModuleList& list, RowRange layer, std::span<const TargetRank> balanced,
                            const std::string& smoothed, std::string_view place) {
  const auto is = [&](const std::string& norm) { return !norm.empty() && smoothed.ends_with("." + norm); };
  Module::Reads read = Module::Reads::other;
  if (is(list.attention_norm)) read = Module::Reads::attention_norm;
  if (is(list.mlp_norm)) read = Module::Reads::mlp_norm;
  bool is_norm = false;
  for (std::size_t i = layer.begin; i < layer.end; ++i) {
    is_norm = is_norm || (list.modules[i].kind == Module::Kind::norm && list.modules[i].name == smoothed);
  }
  for (std::size_t i = layer.begin; is_norm && i < layer.end; ++i) {
    const Module& module = list.modules[i];
    if (module.kind != Module::Kind::linear) continue;
    const bool reads = read != Module::Reads::other && module.reads == read;
    const bool is_balanced = balanced[i] != TargetRank::none;
    if (reads == is_balanced) continue;
    fail(ErrorCode::invalid_argument, place, ": ", module.name, reads ? " reads " : " does not read ", smoothed,
         reads ? " too; name it in the mapping" : "; name what reads it in the mapping");
  }
}

/// The pairs of one mapping in all decoder layers, appended to `plan`, but those whose smoothed layer, or each of
/// whose balanced ones, is `ignored`: one reader left out would read what was divided and stay as it was.
/// Errors: not_found where no layer has both; invalid_argument where a layer has several to smooth, sizes differ or the
/// model would compute something else;
/// unsupported for experts of a mixture.
inline void map_layers(const ModuleList& list, std::span<const TargetRank> balanced,
                       std::span<const TargetRank> smoothed, std::span<const TargetRank> ignored,
                       std::string_view place, SmoothQuantPlan& plan) {
  bool is_found = false;
  for (std::size_t begin = 0; begin < list.modules.size();) {
    std::size_t end = begin + 1;
    while (end < list.modules.size() && list.modules[end].layer == list.modules[begin].layer) ++end;
    SmoothQuantPlan::Mapping mapping;
    std::size_t channels = 0;
    bool is_ignored = false, are_ignored = true;
    const Module* expert = nullptr;
    for (std::size_t i = begin; list.modules[begin].layer && i < end; ++i) {
      const Module& module = list.modules[i];
      const bool has_weights = module.kind == Module::Kind::linear || module.kind == Module::Kind::norm;
      if (smoothed[i] == TargetRank::none || !has_weights) continue;
      if (!mapping.smoothed.empty()) {
        fail(ErrorCode::invalid_argument, place, ": a mapping smooths both ", mapping.smoothed, " and ", module.name,
             "; name one of them");
      }
      mapping.smoothed = module.name;
      is_ignored = ignored[i] != TargetRank::none;
      channels = module.rows;
    }
    for (std::size_t i = begin; !mapping.smoothed.empty() && i < end; ++i) {
      const Module& module = list.modules[i];
      if (balanced[i] == TargetRank::none || module.kind != Module::Kind::linear) continue;
      are_ignored = are_ignored && ignored[i] != TargetRank::none;
      if (module.is_expert && expert == nullptr) expert = &module;
      if (module.columns != channels) {
        fail(ErrorCode::invalid_argument, place, ": ", mapping.smoothed, " gives ", channels, " channels, but ",
             module.name, " has ", module.columns, " columns");
      }
      mapping.balanced.push_back(module.name);
    }
    if (!mapping.balanced.empty()) {
      is_found = true;
      if (!is_ignored && !are_ignored) {
        if (expert != nullptr) {
          fail(ErrorCode::unsupported, place, ": the experts of a mixture (", expert->name,
               ") cannot be smoothed; give mappings without them");
        }
        require_readers(list, {begin, end}, balanced, mapping.smoothed, place);
        for (const SmoothQuantPlan::Mapping& other : plan.mappings) {
          if (other.smoothed != mapping.smoothed) continue;
          fail(ErrorCode::invalid_argument, place, ": two mappings smooth ", mapping.smoothed, "; name it in one");
        }
        plan.mappings.push_back(std::move(mapping));
      }
    }
    begin = end;
  }
  if (!is_found) fail(ErrorCode::not_found, place, ": a mapping names no two layers of one decoder layer");
}

}  // namespace detail

/// Without mappings: each norm of a layer and the linear layers that read it.
/// Errors: as `map_layers`; unsupported where there are neither mappings nor such norms; `place` begins the message.
inline SmoothQuantPlan plan_smooth_quant(const SmoothQuantModifier& modifier, const ModuleList& list,
                                         std::string_view place) {
  SmoothQuantPlan plan{modifier.strength, modifier.is_logarithmic, {}};
  const std::vector<TargetRank> ignored = target_ranks(list, modifier.ignore);
  for (const SmoothQuantModifier::Mapping& mapping : modifier.mappings) {
    detail::map_layers(list, target_ranks(list, mapping.balanced), target_ranks(list, mapping.smoothed), ignored, place,
                       plan);
  }
  if (!modifier.mappings.empty()) return plan;
  if (list.attention_norm.empty() && list.mlp_norm.empty()) {
    fail(ErrorCode::unsupported, place, ": this model has no norms in front of its layers; give mappings");
  }
  std::vector<TargetRank> norm(list.modules.size(), TargetRank::none), readers = norm;
  const auto map_norm = [&](const std::string& name, bool is_attention) {
    if (name.empty()) return;
    for (std::size_t i = 0; i < list.modules.size(); ++i) {
      const Module& module = list.modules[i];
      norm[i] = module.layer && module.name.ends_with("." + name) ? TargetRank::by_name : TargetRank::none;
      const bool reads = module.reads == (is_attention ? Module::Reads::attention_norm : Module::Reads::mlp_norm);
      readers[i] = module.layer && reads ? TargetRank::by_name : TargetRank::none;
    }
    detail::map_layers(list, readers, norm, ignored, place, plan);
  };
  map_norm(list.attention_norm, true);
  map_norm(list.mlp_norm, false);
  return plan;
}

}  // namespace tulle
