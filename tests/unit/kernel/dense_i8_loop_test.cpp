// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/dense_i8_loop.hpp>

#include <algorithm>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/dense_i8.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

TEMPLATE_LIST_TEST_CASE("the largest int8 products of one sign do not saturate", "[kernel][dense_i8_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  using Kernel = BasicDenseI8<TestType>;
  constexpr std::size_t columns = 4096;
  for (const int weight : {-128, -127, 127, 1, 0}) {
    for (const float sign : {1.0f, -1.0f}) {
      const std::vector<std::byte> codes(columns, static_cast<std::byte>(weight));
      WeightRows rows(columns);
      for (std::size_t row = 0; row < 70; ++row) rows.append(codes.data(), DType::i8);
      const auto weights = Kernel::pack(rows);
      for (const std::size_t inputs : {1, 2, 4, 8}) {
        QuantizedInput input(inputs, columns);
        const testing::InputRows x(inputs, columns,
                                   std::vector<float>(inputs * columns, sign * 127));  // its scale is 1
        Kernel::start(weights, inputs, input);
        Kernel::prepare(weights, x.first(inputs), input, {0, inputs});
        std::vector<float> y(inputs * 70);
        Kernel::multiply(weights, input, {y.data(), inputs, 70}, {0, 70});
        // Sums of whole groups have at most 24 significant bits, so f32 holds them exactly.
        const float expected = sign * static_cast<float>(weight * 127) * columns;
        CAPTURE(weight, sign, inputs);
        REQUIRE(std::all_of(y.begin(), y.end(), [&](float value) { return value == expected; }));
      }
    }
  }
}
