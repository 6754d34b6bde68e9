// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/activations/activations_i8.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using testing::InputRows;

TEMPLATE_LIST_TEST_CASE("codes, scales and sums are those of the scalar set for any number of rows",
                        "[kernel][activations_i8]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr std::size_t max_inputs = 20, max_columns = 200;
  ActivationsI8 input(max_inputs, max_columns), reference(max_inputs, max_columns);
  for (const std::size_t columns : {1, 15, 63, 64, 65, 127, 128, 200}) {
    const InputRows x(max_inputs, columns, testing::random_floats(max_inputs * columns, 21));
    for (std::size_t inputs = 1; inputs <= max_inputs; ++inputs) {
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

TEST_CASE("lanes beyond the last row are zero, whatever was there before", "[kernel][activations_i8]") {
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

namespace {

/// One row alone in its tile, with accessors by column.
struct OneRow {
  template <class Isa>
  OneRow(Isa isa, const std::vector<float>& x, bool scale_per_row)
      : padded(round_up(x.size(), group_columns)),
        codes(round_up(padded, chunk_columns)),
        scales(padded / group_columns),
        sums(padded / sum_columns) {
    detail::QuantizedRow{x.size(), padded, scale_per_row, 1, 0, codes.data(), scales.data(), sums.data()}.quantize(
        isa, x.data());
  }
  int code(std::size_t column) const { return codes.data()[column]; }
  float scale(std::size_t column) const { return scales.data()[column / group_columns]; }
  int sum(std::size_t column) const { return sums.data()[column / sum_columns]; }

  std::size_t padded;
  AlignedBuffer<std::int8_t> codes;
  AlignedBuffer<float> scales;
  AlignedBuffer<std::int32_t> sums;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("a code is x * 127 / max|x| of its group of columns, ties to even", "[kernel][activations_i8]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr std::size_t second = group_columns, third = 2 * group_columns;
  std::vector<float> x(third + 2, 0.0f);
  x[0] = 127, x[1] = 0.5f, x[2] = 1.5f, x[3] = 2.5f, x[4] = -0.5f, x[5] = -1.5f, x[6] = 126.51f, x[second - 1] = -127;
  x[second] = -1, x[second + 1] = 0.5f;
  x[third + 1] = 1e-3f;
  const OneRow one(TestType{}, x, false);
  CHECK(one.scale(0) == 1.0f);
  CHECK(one.scale(second) == 1.0f / 127);
  CHECK(one.scale(third) == 1e-3f / 127);
  const int expected[] = {127, 0, 2, 2, 0, -2, 127, 0};
  for (std::size_t column = 0; column < 8; ++column) CHECK(one.code(column) == expected[column]);
  CHECK(one.code(second - 1) == -127);
  CHECK(one.code(second) == -127);
  CHECK(one.code(second + 1) == 64);  // 63.5, a tie
  CHECK(one.code(third) == 0);
  CHECK(one.code(third + 1) == 127);
  CHECK(one.padded == 3 * group_columns);
  for (std::size_t column = third + 2; column < 3 * group_columns; ++column) CHECK(one.code(column) == 0);
  CHECK(one.sum(0) == 127 + 0 + 2 + 2 + 0 - 2 + 127);
  CHECK(one.sum(second - sum_columns) == -127);
  CHECK(one.sum(3 * group_columns - sum_columns) == 0);
}

TEMPLATE_LIST_TEST_CASE("a row may share one scale", "[kernel][activations_i8]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  std::vector<float> x(70, 0.25f);
  x[69] = -2;
  const OneRow one(TestType{}, x, true);
  CHECK(one.scale(0) == 2.0f / 127);
  CHECK(one.scale(64) == 2.0f / 127);
  CHECK(one.code(0) == 16);  // 15.875
  CHECK(one.code(69) == -127);
}

TEMPLATE_LIST_TEST_CASE("a quantized value is within half a step of x", "[kernel][activations_i8]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const float size : {1e-30f, 1.0f, 1e30f}) {
    const std::vector<float> x = testing::random_floats(200, 11, -size, size);
    const OneRow one(TestType{}, x, false);
    for (std::size_t column = 0; column < x.size(); ++column) {
      const double step = double{one.scale(column)};
      REQUIRE(std::fabs(step * one.code(column) - double{x[column]}) <= step * (0.5 + 127 * 0x1p-22));
      REQUIRE(std::abs(one.code(column)) <= 127);
    }
  }
}

TEMPLATE_LIST_TEST_CASE(
    "what is not finite gives the scale NaN and the code 0, zeros and the tiniest numbers the code 0",
    "[kernel][activations_i8]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const bool scale_per_row : {false, true}) {
    for (const float odd :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(), inf, -inf}) {
      std::vector<float> x(2 * group_columns, 1.0f);
      x.back() = odd;
      const OneRow one(TestType{}, x, scale_per_row);
      CHECK(std::isnan(one.scale(group_columns)));
      CHECK(one.code(2 * group_columns - 1) == 0);
      CHECK(one.code(group_columns) == 0);
      CHECK(std::isnan(one.scale(0)) == scale_per_row);
    }
    for (const float tiny : {0.0f, -0.0f, 1e-45f, -1e-40f, 1e-36f}) {
      const OneRow one(TestType{}, std::vector<float>(64, tiny), scale_per_row);
      CHECK(one.code(0) == 0);
      CHECK(one.sum(0) == 0);
      CHECK(std::isfinite(one.scale(0)));
    }
    const OneRow huge(TestType{}, std::vector<float>(64, std::numeric_limits<float>::max()), scale_per_row);
    CHECK(huge.code(63) == 127);
    CHECK(std::isfinite(huge.scale(0)));
  }
}

#if defined(TULLE_X86)

TEST_CASE("the codes again, plus 128", "[kernel][activations_i8]") {
  testing::require_machine<isa::Avx512>();
  constexpr std::size_t columns = 160, width = 2;
  AlignedBuffer<std::int8_t> codes(round_up(columns, chunk_columns) * width);
  AlignedBuffer<std::uint8_t> offset_codes(codes.size());
  AlignedBuffer<float> scales(columns / group_columns * width);
  AlignedBuffer<std::int32_t> sums(columns / sum_columns * width);
  for (std::size_t lane = 0; lane < width; ++lane) {
    const detail::QuantizedRow row{columns, columns, false, width, lane, codes.data(), scales.data(), sums.data()};
    row.quantize(isa::Avx512{}, testing::random_floats(columns, 5 + static_cast<unsigned>(lane), -1, 1).data());
    row.copy_with_offset(isa::Avx512{}, offset_codes.data());
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t at = code_index(column, width, lane);
      REQUIRE(int{offset_codes.data()[at]} == codes.data()[at] + 128);
    }
  }
}

#endif
