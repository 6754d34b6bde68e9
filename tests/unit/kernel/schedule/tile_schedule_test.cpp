// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/schedule/tile_schedule.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

/// Counts how often each (panel, input) is asked for; a width that is not the tile's counts as far too often.
template <std::size_t PanelsAtOnce = 4>
struct Counter {
  static constexpr StreamCounts streams_one_row{PanelsAtOnce, PanelsAtOnce, PanelsAtOnce};

  std::vector<int>& seen;  // [panels][inputs]
  std::size_t inputs;
  MatrixView<float> y{};  // nothing is written

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* panels, const InputTile& tile) const noexcept {
    for (std::size_t p = 0; p < Panels; ++p) {
      for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
        seen[panels[p] * inputs + tile.first + lane] += tile.width == Inputs ? 1 : 1000;
      }
    }
  }
};

}  // namespace

TEST_CASE("an input tile is as narrow as its inputs allow", "[kernel][tiles]") {
  const std::size_t widths[] = {0, 1, 2, 4, 4, 8, 8, 8, 8};
  for (std::size_t inputs = 1; inputs <= tile_inputs; ++inputs) {
    const InputTile tile = input_tile(16, 16 + inputs);
    CHECK(tile.first == 16);
    CHECK(tile.inputs == inputs);
    CHECK(tile.width == widths[inputs]);
  }
  CHECK(input_tile(8, 100).inputs == 8);
}

TEST_CASE("every panel of the range meets every input, only the last ones more than once", "[kernel][tiles]") {
  for (const std::size_t inputs : {1, 2, 3, 8, 9, 21}) {
    for (const std::size_t rows : {1, 16, 17, 64, 65, 144, 150}) {
      for (std::size_t begin = 0; begin < rows; begin += 48) {
        const std::size_t panels = (rows + panel_rows - 1) / panel_rows;
        std::vector<int> seen(panels * inputs), seen_by_2(panels * inputs), seen_by_1(panels * inputs);
        std::vector<float> outputs(inputs * rows);
        const MatrixView<float> y(outputs.data(), inputs, rows);
        for_each_tile(Counter<4>{seen, inputs, y}, inputs, {begin, rows});
        for_each_tile(Counter<2>{seen_by_2, inputs, y}, inputs, {begin, rows});
        for_each_tile(Counter<1>{seen_by_1, inputs, y}, inputs, {begin, rows});
        for (std::size_t at = 0; at < seen.size(); ++at) {
          CAPTURE(inputs, rows, begin, at);
          const std::size_t panel = at / inputs;
          const int most = panel < begin / panel_rows ? 0 : panel + 1 < panels ? 1 : 4;  // 4 panels go together at most
          REQUIRE(seen[at] >= std::min(most, 1));
          REQUIRE(seen[at] <= most);
          REQUIRE(seen_by_2[at] >= std::min(most, 1));
          REQUIRE(seen_by_2[at] <= std::min(most, 2));
          REQUIRE(seen_by_1[at] >= std::min(most, 1));
          REQUIRE(seen_by_1[at] <= std::min(most, inputs == 1 ? 1 : 2));
        }
      }
    }
  }
}

TEST_CASE("an empty range of rows has no tiles, wherever it lies", "[kernel][tiles]") {
  std::vector<int> seen(2);
  for (const std::size_t at : {0, 16, 17}) for_each_tile(Counter<>{seen, 1}, 1, {at, at});
  for_each_tile(Counter<>{seen, 1}, 0, {0, 17});
  CHECK(seen == std::vector<int>{0, 0});
}
