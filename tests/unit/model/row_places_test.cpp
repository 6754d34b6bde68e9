// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/row_places.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("rows of one sequence that follow each other are blocks", "[model][row_places]") {
  const Architecture model = describe_model(testing::llama_config(), "config.json");
  const std::size_t most = attention_block / (model.heads / model.kv_heads);
  RowPlaces places(model, most + 4);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < most + 1; ++i) rows.push_back({0, static_cast<Position>(7 + i), 1, false});
  rows.push_back({1, 3, 1, false});
  rows.push_back({1, 5, 1, false});  // position 4 is missing
  rows.push_back({2, 6, 1, false});  // another sequence
  places.find_blocks(rows);
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (const RowBlock& block : places.blocks()) found.emplace_back(block.first, block.count);
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  CHECK(found == Pairs{{0, most}, {most, 1}, {most + 1, 1}, {most + 2, 1}, {most + 3, 1}});
}

TEST_CASE("angles are those of the position, for every rotary table", "[model][row_places]") {
  Architecture model = describe_model(testing::llama_config(), "config.json");
  model.rotary_tables = {{RotaryPairing::halves, {1.0f, 0.5f}}, {RotaryPairing::halves, {0.25f}}};
  RowPlaces places(model, 3);
  places.find_angles(2, 5);
  CHECK(places.cosines(2, 0)[0] == static_cast<float>(std::cos(5.0)));
  CHECK(places.sines(2, 0)[1] == static_cast<float>(std::sin(2.5)));
  CHECK(places.cosines(2, 1)[0] == static_cast<float>(std::cos(1.25)));
  CHECK(places.sines(2, 1)[0] == static_cast<float>(std::sin(1.25)));
  CHECK(places.size_bytes() >= 2 * 3 * 3 * sizeof(float));
}
