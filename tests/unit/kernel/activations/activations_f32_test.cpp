// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/activations/activations_f32.hpp>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("float rows are interleaved by tile, and padding lanes are zero", "[kernel][activations_f32]") {
  constexpr std::size_t columns = 5;
  ActivationsF32 input(20, 9);
  for (const std::size_t inputs : {20, 1, 2, 3, 4, 7, 8, 11}) {
    const testing::InputRows x(inputs, columns, testing::random_floats(inputs * columns, 5));
    input.start(inputs, columns);
    input.interleave(x.first(inputs), {0, inputs});
    REQUIRE(input.inputs() == inputs);
    for (std::size_t first = 0; first < inputs; first += tile_inputs) {
      const InputTile tile = input_tile(first, inputs);
      for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t lane = 0; lane < tile.width; ++lane) {
          CAPTURE(inputs, first, column, lane);
          const float expected = lane < tile.inputs ? x.first(inputs)[first + lane][column] : 0.0f;
          REQUIRE(input.values(tile)[column * tile.width + lane] == expected);
        }
      }
    }
  }
}

TEST_CASE("float rows of disjoint ranges do not touch each other", "[kernel][activations_f32]") {
  constexpr std::size_t inputs = 19, columns = 4;
  const testing::InputRows x(inputs, columns, testing::random_floats(inputs * columns, 6));
  ActivationsF32 whole(inputs, columns), parts(inputs, columns);
  whole.start(inputs, columns);
  whole.interleave(x.first(inputs), {0, inputs});
  parts.start(inputs, columns);
  parts.interleave(x.first(inputs), {16, inputs});
  parts.interleave(x.first(inputs), {0, 8});
  parts.interleave(x.first(inputs), {8, 16});
  parts.interleave(x.first(inputs), {inputs, inputs});
  const InputTile tile = input_tile(0, inputs);
  CHECK(std::equal(whole.values(tile), whole.values(tile) + 20 * columns, parts.values(tile)));
}
