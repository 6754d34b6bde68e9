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

/// The layers of `role` as the checkpoint names them, in the order of the rows that run.
inline std::vector<std::string> layer_names(const Architecture& model, std::size_t layer, LinearRole role) {
  const WeightNames& names = model.names;
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
    case LinearRole::up: take({names.gate, names.up}); break;
    default: take({names.down}); break;
  }
  return found;
}

}  // namespace tulle
