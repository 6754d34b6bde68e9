// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/dense/dense_i4_loop.hpp>

#include <algorithm>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/dense/dense_i4.hpp>

#include <tulle/kernel/any_kernel.hpp>
#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

/// One row of blocks with this scale and minimum, every code byte `codes`.
std::vector<std::byte> blocks(DType dtype, std::size_t columns, Half scale, Half minimum, std::uint8_t codes) {
  std::vector<std::byte> bytes;
  const auto put = [&bytes](Half value) {
    bytes.push_back(static_cast<std::byte>(value.bits & 0xFF));
    bytes.push_back(static_cast<std::byte>(value.bits >> 8));
  };
  for (std::size_t column = 0; column < columns; column += 32) {
    put(scale);
    if (dtype == DType::q4_1) put(minimum);
    bytes.insert(bytes.end(), 16, std::byte{codes});
  }
  return bytes;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the largest int4 products of one sign are exact", "[kernel][dense_i4_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  using Kernel = BasicDenseI4<TestType>;
  constexpr std::size_t columns = 256, out = 40;
  for (const DType dtype : {DType::q4_0, DType::q4_1}) {
    for (const int code : {0, 8, 15}) {
      for (const float sign : {1.0f, -1.0f}) {
        const auto row = blocks(dtype, columns, to_half(1), to_half(-3), static_cast<std::uint8_t>(code * 17));
        testing::RowList rows(columns);
        for (std::size_t i = 0; i < out; ++i) rows.append(row.data(), dtype);
        const auto weights = Kernel::pack(rows);
        for (const std::size_t inputs : {1, 2, 4, 8}) {
          ActivationsI8 input(inputs, columns);
          const testing::InputRows x(inputs, columns,
                                     std::vector<float>(inputs * columns, sign * 127));  // its scale is 1
          Kernel::start(weights, inputs, input);
          Kernel::prepare(weights, x.first(inputs), input, {0, inputs});
          std::vector<float> y(inputs * out);
          Kernel::multiply(weights, input, {y.data(), inputs, out}, {0, out});
          const int value = dtype == DType::q4_0 ? code - 8 : code - 3;
          const float expected = sign * static_cast<float>(value * 127) * columns;
          CAPTURE(dtype_name(dtype), code, sign, inputs);
          REQUIRE(std::all_of(y.begin(), y.end(), [&](float output) { return output == expected; }));
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the scale of a wide group covers all its columns and no other's", "[kernel][dense_i4_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  using Kernel = BasicDenseI4<TestType>;
  for (const std::size_t group : {32, 64, 128}) {
    // Group g holds -8 * 2^g in all its columns, so each column's weight tells which scale it met.
    constexpr std::size_t columns = 320;
    std::vector<float> values(columns);
    for (std::size_t at = 0; at < columns; ++at) values[at] = -8 * static_cast<float>(1u << at / group);
    const auto weights = Kernel::pack(testing::float_matrix(1, columns, values).rows, {.int4_group = group});
    for (std::size_t hot = 0; hot < columns; hot += 3) {
      std::vector<float> one(columns, 0.0f);
      one[hot] = 127;
      ActivationsI8 input(1, columns);
      const testing::InputRows x(1, columns, one);
      Kernel::start(weights, 1, input);
      Kernel::prepare(weights, x.first(1), input, {0, 1});
      float y = 0;
      Kernel::multiply(weights, input, {&y, 1, 1}, {0, 1});
      CAPTURE(group, hot);
      REQUIRE(y == values[hot] * 127);
    }
  }
}
