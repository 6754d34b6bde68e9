// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/activations/activations_i14.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

int code_of(const ActivationsI14& input, std::size_t index, std::size_t column) {
  if (const std::size_t tile = input.tile(); tile > 0)
    return input.codes(index / tile * tile)[column * tile + index % tile];
  return 128 * (input.high(index)[column] - ActivationsI14::offset) + input.low(index)[column] - ActivationsI14::offset;
}

template <class Isa>
ActivationsI14 quantized(const testing::InputRows& x, std::size_t inputs, std::size_t columns) {
  ActivationsI14 input(inputs, columns);
  input.start<Isa>(inputs, columns);
  input.quantize<Isa>(x.first(inputs), {0, inputs});
  return input;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("codes are the nearest of 14 bits, in either form", "[kernel][activations_i14]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr bool avx2 = std::is_base_of_v<isa::Avx2, TestType>, avx512 = std::is_same_v<TestType, isa::Avx512>;
  for (const std::size_t inputs : {1, 3, 43, 133}) {
    for (const std::size_t columns : {1, 7, 16, 130}) {
      const testing::InputRows x(inputs, columns, testing::random_floats(inputs * columns, 5));
      const ActivationsI14 input = quantized<TestType>(x, inputs, columns);
      CHECK(input.tile() == (avx2 && inputs >= 43 ? 16 : avx512 && inputs == 133 ? 32 : 0));
      for (std::size_t index = 0; index < inputs; ++index) {
        const float* row = x.first(inputs)[index];
        float largest = 0;
        for (std::size_t column = 0; column < columns; ++column) largest = std::max(largest, std::fabs(row[column]));
        REQUIRE(input.scale(index) == largest / 8127);
        for (std::size_t column = 0; column < columns; ++column) {
          REQUIRE(code_of(input, index, column) == static_cast<int>(std::nearbyint(row[column] * (8127 / largest))));
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("what is not finite spoils its row alone, wherever it stands", "[kernel][activations_i14]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr std::size_t columns = 21;
  for (const std::size_t inputs : {2, 130}) {
    for (const float odd :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -INFINITY}) {
      for (std::size_t place = 0; place < columns; ++place) {
        std::vector<float> values(inputs * columns, 1.5f);
        values[place] = odd;
        const ActivationsI14 input = quantized<TestType>(testing::InputRows(inputs, columns, values), inputs, columns);
        REQUIRE(std::isnan(input.scale(0)));
        for (std::size_t column = 0; column < columns; ++column) REQUIRE(code_of(input, 0, column) == 0);
        REQUIRE(input.scale(1) == 1.5f / 8127);
        REQUIRE(code_of(input, 1, place) == 8127);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("zeros and the smallest numbers have code 0", "[kernel][activations_i14]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const float tiny : {0.0f, -0.0f, 1e-42f, 1e-35f}) {
    const ActivationsI14 input = quantized<TestType>(testing::InputRows(1, 33, std::vector<float>(33, tiny)), 1, 33);
    CHECK(std::isfinite(input.scale(0)));
    for (std::size_t column = 0; column < 33; ++column) REQUIRE(code_of(input, 0, column) == 0);
  }
}
