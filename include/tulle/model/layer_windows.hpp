// SPDX-License-Identifier: Apache-2.0
/// \file Which layers of a config attend to a window of positions (L3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

/// Gives a window of `sliding_window` positions to the layers that `layer_types` calls "sliding_attention", or without
/// such a list to those for which `slides(layer)` is true. None without a `sliding_window`.
/// Errors: malformed for a list of another length and a window that is too long, unsupported for other kinds of layers.
template <class Slides>
void read_windows(const Json& config, std::string_view where, Architecture& model, Slides&& slides) {
  const auto window = json_value(config, "sliding_window", std::size_t{0}, where);
  if (window >= (std::size_t{1} << 30)) fail(ErrorCode::malformed, where, ": the sliding window is too long");
  const auto types = json_value(config, "layer_types", std::vector<std::string>{}, where);
  if (!types.empty() && types.size() != model.layers.size()) {
    fail(ErrorCode::malformed, where, ": ", types.size(), " layer_types for ", model.layers.size(), " layers");
  }
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const bool sliding = types.empty() ? slides(layer) : types[layer] == "sliding_attention";
    if (!types.empty() && !sliding && types[layer] != "full_attention") {
      fail(ErrorCode::unsupported, where, ": layer type \"", types[layer],
           "\" is not known; known are full_attention and sliding_attention");
    }
    if (sliding) model.layers[layer].window.positions = static_cast<Position>(window);
  }
}

}  // namespace tulle
