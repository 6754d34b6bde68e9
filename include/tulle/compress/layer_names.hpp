// SPDX-License-Identifier: Apache-2.0
/// \file Which linear layers of a checkpoint read the same input (L5).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include <tulle/model/architecture.hpp>
#include <tulle/model/decoder_observer.hpp>

namespace tulle {

/// The layers of `role` as the checkpoint names them, in the order of the rows that run; experts are apart.
inline std::vector<std::string> layer_names(const Architecture& model, std::size_t layer, LinearRole role) {
  const WeightNames& names = model.names;
  const bool is_mixture = model.layers[layer].is_mixture();
  const std::string prefix = model.layer_prefix(layer);
  std::vector<std::string> found;
  const auto take = [&](std::initializer_list<std::string> inner) {
    for (const std::string& name : inner) {
      if (!name.empty()) found.push_back(prefix + name);
    }
  };
  switch (role) {
    case LinearRole::query_key_value:
      if (names.query_key_value.empty()) {
        take({names.query, names.key, names.value});
      } else {
        take({names.query_key_value});
      }
      break;
    case LinearRole::output: take({names.output}); break;
    case LinearRole::up:
      if (!is_mixture) take({names.gate, names.up});
      break;
    default:
      if (!is_mixture) take({names.down});
      break;
  }
  return found;
}

/// The layers of `role` (`up` or `down`) of an expert; after the others that which all rows share.
inline std::vector<std::string> expert_names(const Architecture& model, std::size_t layer, std::size_t expert,
                                             LinearRole role) {
  const WeightNames& names = model.names;
  const std::string prefix = model.expert_prefix(layer, expert);
  if (role == LinearRole::down) return {prefix + names.expert_down};
  if (names.expert_gate.empty()) return {prefix + names.expert_up};
  return {prefix + names.expert_gate, prefix + names.expert_up};
}

/// Experts of a layer, that which all rows share included.
inline std::size_t expert_count(const LayerSpec& layer) noexcept {
  return layer.experts.count + (layer.experts.shared_intermediate == 0 ? 0 : 1);
}

}  // namespace tulle
