// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/layer_windows.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

std::vector<Position> windows(const Json& config, std::size_t layers = 3) {
  Architecture model;
  model.layers.resize(layers);
  read_windows(config, "x", model, [](std::size_t layer) { return layer >= 1; });
  std::vector<Position> found;
  for (const LayerSpec& layer : model.layers) found.push_back(layer.window.positions);
  return found;
}

}  // namespace

TEST_CASE("windows follow the list of layers, or else the family", "[model][layer_windows]") {
  CHECK(windows({{"sliding_window", 16}}) == std::vector<Position>{0, 16, 16});
  CHECK(windows(
            {{"sliding_window", 16}, {"layer_types", {"sliding_attention", "full_attention", "sliding_attention"}}}) ==
        std::vector<Position>{16, 0, 16});
  CHECK(windows({{"sliding_window", nullptr}}) == std::vector<Position>{0, 0, 0});
  CHECK(windows(Json::object()) == std::vector<Position>{0, 0, 0});
}

TEST_CASE("lists of another length, other kinds of layers and endless windows are refused", "[model][layer_windows]") {
  const auto error = [](const Json& config) { return test::error_of([&] { (void)windows(config); }); };
  CHECK(error({{"sliding_window", 16}, {"layer_types", {"full_attention"}}}) == ErrorCode::malformed);
  CHECK(error({{"layer_types", {"full_attention", "linear_attention", "full_attention"}}}) == ErrorCode::unsupported);
  CHECK(error({{"sliding_window", std::size_t{1} << 40}}) == ErrorCode::malformed);
  CHECK(error({{"sliding_window", -1}}) == ErrorCode::malformed);
  CHECK(error({{"layer_types", "full_attention"}}) == ErrorCode::malformed);
}
