// SPDX-License-Identifier: Apache-2.0
/// \file Sparsities of decoder layers by their outliers (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/sparsity_profile.hpp>
#include <tulle/compress/stage_planner.hpp>
#include <tulle/compress/token_batch.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/weight_loader.hpp>

namespace tulle {

namespace detail {

/// The share of the weights of the layer that a chain has entered whose |weight| times the norm of its input is above
/// `factor` times their mean. Leads the chain through the layer.
inline double outlier_share(BlockChain& chain, double factor) {
  std::vector<float> scores;
  double sum = 0;
  for (const LinearRole role : {LinearRole::query_key_value, LinearRole::output, LinearRole::up, LinearRole::down}) {
    chain.collect(role);
    const MatrixView<const float> inputs = chain.inputs();
    std::vector<double> squares(inputs.columns);
    for (std::size_t row = 0; row < inputs.rows; ++row) {
      for (std::size_t j = 0; j < inputs.columns; ++j) {
        squares[j] += static_cast<double>(inputs[row][j]) * static_cast<double>(inputs[row][j]);
      }
    }
    for (const auto& part : BlockChain::linear(chain.weights(), role).parts) {
      const MatrixView<const float> weights = part.weights.view();
      for (std::size_t row = 0; row < weights.rows; ++row) {
        for (std::size_t j = 0; j < weights.columns; ++j) {
          const double score = std::abs(static_cast<double>(weights[row][j])) * std::sqrt(squares[j]);
          scores.push_back(static_cast<float>(score));
          sum += score;
        }
      }
    }
    chain.advance(role);
  }
  const auto bound = static_cast<float>(factor * sum / static_cast<double>(scores.size()));
  const auto above = std::count_if(scores.begin(), scores.end(), [&](float score) { return score > bound; });
  return static_cast<double>(above) / static_cast<double>(scores.size());
}

}  // namespace detail

/// `plan` with sparsities of their own where it has an `OwlProfile`, which the result has no more. `batch`: what the
/// dense model reads for that. Errors: those of loading; unsupported for mixtures of experts; memory.
inline StagePlan with_owl_sparsities(StagePlan plan, const TensorSource& dense, const Architecture& model,
                                     const TokenBatch& batch, ThreadPool& pool) {
  std::optional<OwlProfile> profile;
  for (const auto& [name, layer] : plan.layers) {
    if (!layer.pruning || !layer.pruning->owl) continue;
    if (profile && *profile != *layer.pruning->owl) {
      fail(ErrorCode::unsupported, name, ": all modifiers of a stage must have the same owl_m and owl_lmbda");
    }
    profile = layer.pruning->owl;
  }
  if (!profile) return plan;
  LoadOptions options;
  options.threads = 1;
  const WeightLoader<BlasLinear> loader(dense, model, options);
  prepare_blas();
  BlockChain chain(model, batch, pool);
  chain.embed(loader.load_entry());
  std::vector<std::vector<PruningPlan*>> pruned;  // of each decoder layer that the profile is for
  std::vector<double> outliers;                   // of each of these
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    if (model.layers[layer].is_mixture()) {
      fail(ErrorCode::unsupported,
           "sparsity_profile: owl knows no mixture of experts; give the sparsity of each layer");
    }
    chain.enter(layer, loader.load_layer(layer));
    const double share = detail::outlier_share(chain, profile->outlier);
    std::vector<PruningPlan*> own;
    for (const LinearRole role : {LinearRole::query_key_value, LinearRole::output, LinearRole::up, LinearRole::down}) {
      for (const std::string& name : layer_names(model, layer, role)) {
        const auto found = plan.layers.find(name);
        if (found == plan.layers.end()) continue;
        if (auto& pruning = found->second.pruning; pruning && pruning->owl) own.push_back(&*pruning);
      }
    }
    if (own.empty()) continue;
    pruned.push_back(std::move(own));
    outliers.push_back(share);
  }
  const std::vector<double> differences = owl_differences(outliers, profile->spread);
  double share = 1;
  for (std::size_t i = 0; i < pruned.size(); ++i) {
    for (const PruningPlan* pruning : pruned[i]) {
      share = std::min(share, share_in_bounds(pruning->sparsity, differences[i]));
    }
  }
  for (std::size_t i = 0; i < pruned.size(); ++i) {
    for (PruningPlan* pruning : pruned[i]) {
      pruning->sparsity += share * differences[i];
      pruning->owl.reset();
    }
  }
  return plan;
}

}  // namespace tulle
