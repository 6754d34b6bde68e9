// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/i8_loop.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/int8/balanced.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>

#include <tulle/kernel/any_kernel.hpp>
#include <tulle/kernel/int8/i8_weights.hpp>
#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

/// Rows of one weight, `kept` of every 16 columns, by activations of one value: the largest sums there can be.
template <LinearKernel Kernel>
void check_largest_products(std::size_t kept) {
  constexpr std::size_t columns = 128, out = 40;
  for (const int weight : {-128, -127, 127, 1, 0}) {
    for (const float sign : {1.0f, -1.0f}) {
      std::vector<std::byte> codes(columns);
      for (std::size_t column = 0; column < columns; ++column) {
        // 2 of 4 for 8 of 16, the first of each four for 4 of 16
        const bool is_kept = kept == 16 || (kept == 8 ? column % 4 < 2 : column % 4 == 0);
        if (is_kept) codes[column] = static_cast<std::byte>(weight);
      }
      testing::RowList rows(columns);
      for (std::size_t row = 0; row < out; ++row) rows.append(codes.data(), DType::i8);
      const auto weights = Kernel::pack(rows);
      for (const std::size_t inputs : {1, 2, 4, 8, 20}) {
        ActivationsI8 input(inputs, columns);
        // Its scale is 1.
        const testing::InputRows x(inputs, columns, std::vector<float>(inputs * columns, sign * 127));
        Kernel::start(weights, inputs, input);
        Kernel::prepare(weights, x.first(inputs), input, {0, inputs});
        std::vector<float> y(inputs * out);
        Kernel::multiply(weights, input, {y.data(), inputs, out}, {0, out});
        // Sums of whole groups have at most 24 significant bits, so f32 holds them exactly.
        const float expected = sign * static_cast<float>(weight * 127) * static_cast<float>(columns * kept / 16);
        CAPTURE(weight, sign, inputs);
        REQUIRE(std::all_of(y.begin(), y.end(), [&](float value) { return value == expected; }));
      }
    }
  }
}

/// Random codes, columns and rows of activations that fill no tile.
template <template <class> class Kernel, class Isa>
void check_bits(testing::Zeros zeros) {
  constexpr std::size_t rows = 40, columns = 112, max_inputs = 20;
  const auto matrix = testing::pruned(testing::random_matrix(DType::i8, rows, columns, 3), zeros, 4);
  using Reference = BasicDenseI8<testing::ReferenceSet<Isa>>;
  const auto weights = Kernel<Isa>::pack(matrix.rows);
  const auto dense = Reference::pack(matrix.rows);
  for (const std::size_t inputs : {1, 3, 8, 20}) {
    const testing::InputRows x(max_inputs, columns, testing::random_floats(max_inputs * columns, 5));
    const auto product = [&]<class Of>(Of, const auto& of) {
      ActivationsI8 input(inputs, columns);
      Of::start(of, inputs, input);
      Of::prepare(of, x.first(inputs), input, {0, inputs});
      std::vector<float> y(inputs * rows);
      Of::multiply(of, input, {y.data(), inputs, rows}, {0, rows});
      return y;
    };
    CAPTURE(inputs, Kernel<Isa>::name);
    REQUIRE(product(Kernel<Isa>{}, weights) == product(Reference{}, dense));
  }
}

/// The loop of headers alone, for scales of any kind, beside that of the kernel.
template <class Layout, class Isa>
void check_any_group(DType dtype, testing::Zeros zeros) {
  constexpr std::size_t rows = 40, columns = 256, max_inputs = 20;
  const auto matrix = testing::pruned(testing::random_matrix(dtype, rows, columns, 8), zeros, 9);
  const auto weights = I8Weights<Layout>::pack(matrix.rows);
  const detail::PackedPanels panels(matrix.rows, detail::I8Format::of<Layout>(), nullptr);
  const testing::InputRows x(max_inputs, columns, testing::random_floats(max_inputs * columns, 10));
  for (const std::size_t inputs : {1, 2, 4, 13, 20}) {
    ActivationsI8 input(inputs, columns);
    input.start(inputs, columns, false);
    input.quantize<Isa>(x.first(inputs), {0, inputs});
    std::vector<float> y(inputs * rows), expected(inputs * rows);
    weights.template multiply<Isa>(input, {expected.data(), inputs, rows}, {0, rows});
    detail::multiply_i8<Layout, Isa, detail::any_group>(panels, input, {y.data(), inputs, rows}, {0, rows});
    CAPTURE(inputs, Layout::name, weights.group());
    REQUIRE(y == expected);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the loop over any kind of scales gives the bits of the loop over one", "[kernel][i8_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const DType dtype : {DType::q6_k, DType::q8_k, DType::iq4_xs}) {
    check_any_group<detail::DenseBlocks, TestType>(dtype, {});
  }
  for (const DType dtype : {DType::i8, DType::q8_0}) {
    check_any_group<detail::DenseBlocks, TestType>(dtype, {});
    check_any_group<detail::BalancedBlocks<detail::TwoOfFour, 8>, TestType>(dtype, {2, 4});
  }
}

TEMPLATE_LIST_TEST_CASE("every layout gives the bits of dense int8", "[kernel][i8_loop]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  check_bits<BasicDenseI8, TestType>({});
  check_bits<BasicBitmaskI8, TestType>({});
  check_bits<BasicTwoOfFourI8, TestType>({2, 4});
  check_bits<BasicEightOfSixteenGap4I8, TestType>({8, 16, 4});
  check_bits<BasicEightOfSixteenI8, TestType>({8, 16});
  check_bits<BasicFourOfSixteenI8, TestType>({4, 16});
}

TEMPLATE_LIST_TEST_CASE("the largest int8 products of one sign do not saturate", "[kernel][i8_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  check_largest_products<BasicDenseI8<TestType>>(16);
  check_largest_products<BasicBitmaskI8<TestType>>(16);
  check_largest_products<BasicBitmaskI8<TestType>>(8);
  check_largest_products<BasicTwoOfFourI8<TestType>>(8);
  check_largest_products<BasicEightOfSixteenGap4I8<TestType>>(8);
  check_largest_products<BasicFourOfSixteenI8<TestType>>(4);
}
