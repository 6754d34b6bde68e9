// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/activations/activations_i8.hpp>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using testing::InputRows;

TEMPLATE_LIST_TEST_CASE("codes, scales and sums are those of the scalar set for any number of inputs",
                        "[kernel][quantized_input]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr std::size_t most = 20, max_columns = 200;
  ActivationsI8 input(most, max_columns), reference(most, max_columns);
  for (const std::size_t columns : {1, 15, 63, 64, 65, 127, 128, 200}) {
    const InputRows x(most, columns, testing::random_floats(most * columns, 21));
    for (std::size_t inputs = 1; inputs <= most; ++inputs) {
      for (const bool scale_per_row : {false, true}) {
        input.start(inputs, columns, scale_per_row);
        input.quantize<TestType>(x.first(inputs), {0, inputs});
        for (std::size_t index = 0; index < inputs; ++index) {
          reference.start(1, columns, scale_per_row);
          reference.quantize<isa::Scalar>(x.only(index), {0, 1});
          const InputTile tile = input_tile(index / tile_inputs * tile_inputs, inputs), alone = input_tile(0, 1);
          const std::size_t lane = index - tile.first;
          bool same = true;
          for (std::size_t column = 0; column < input.padded_columns(); ++column) {
            same &= input.codes(tile)[code_index(column, tile.width, lane)] == reference.codes(alone)[column];
            same &= input.scales(tile)[column / group_columns * tile.width + lane] ==
                    reference.scales(alone)[column / group_columns];
            same &= input.sums(tile)[column / sum_columns * tile.width + lane] ==
                    reference.sums(alone)[column / sum_columns];
          }
          CAPTURE(columns, inputs, index, scale_per_row);
          REQUIRE(same);
        }
      }
    }
  }
}

TEST_CASE("lanes beyond the last input are zero, whatever was there before", "[kernel][quantized_input]") {
  ActivationsI8 input(8, 64);
  const InputRows x(8, 64, testing::random_floats(8 * 64, 31));
  input.start(8, 64, false);
  input.quantize<isa::Scalar>(x.first(8), {0, 8});
  input.start(5, 64, false);
  input.quantize<isa::Scalar>(x.first(5), {0, 5});
  const InputTile tile = input_tile(0, 5);
  REQUIRE(tile.width == 8);
  for (std::size_t lane = 5; lane < 8; ++lane) {
    CHECK(input.scales(tile)[lane] == 0);
    for (std::size_t part = 0; part < 4; ++part) CHECK(input.sums(tile)[part * 8 + lane] == 0);
    for (std::size_t quad = 0; quad < 16; ++quad) CHECK(input.codes(tile)[code_index(4 * quad, 8, lane)] == 0);
  }
}
