// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/dense/dense_float_loop.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/dense/dense_float.hpp>

#include <tulle/kernel/any_kernel.hpp>
#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

TEMPLATE_LIST_TEST_CASE("an output is the sum over the columns in order, fused where the set can",
                        "[kernel][dense_float_loop]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  // Only this order, with one rounding a step, gives 1: 1e8 swallows what is added to it unless it has left again.
  const auto matrix = testing::float_matrix(1, 5, {1e8f, -1e8f, 1.0f, 0x1p-24f, 0x1p-24f});
  using Kernel = BasicDenseF32<TestType>;
  const auto weights = Kernel::pack(matrix.rows);
  ActivationsF32 input(1, 5);
  const testing::InputRows x(1, 5, std::vector<float>(5, 1.0f));
  Kernel::start(weights, 1, input);
  Kernel::prepare(weights, x.first(1), input, {0, 1});
  float y = 0;
  Kernel::multiply(weights, input, {&y, 1, 1}, {0, 1});
  CHECK(y == 1.0f);

  // (1 + e)(1 - e) - 1 = -e^2, which only a fused multiply-add sees.
  const auto fused = Kernel::pack(testing::float_matrix(1, 2, {-1.0f, 1.0f + 0x1p-20f}).rows);
  const testing::InputRows factors(1, 2, {1.0f, 1.0f - 0x1p-20f});
  Kernel::start(fused, 1, input);
  Kernel::prepare(fused, factors.first(1), input, {0, 1});
  Kernel::multiply(fused, input, {&y, 1, 1}, {0, 1});
  CHECK(y == (std::is_same_v<testing::ReferenceSet<TestType>, isa::Scalar> ? -0x1p-40f : 0.0f));
}

TEMPLATE_LIST_TEST_CASE("every half and every bfloat16 reaches the product as it is", "[kernel][dense_float_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  using Kernel = BasicDenseF16<TestType>;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> bits(65536);
    for (std::size_t at = 0; at < bits.size(); ++at) bits[at] = static_cast<std::uint16_t>(at);
    testing::RowList rows(1);
    for (const std::uint16_t& value : bits) rows.append(reinterpret_cast<const std::byte*>(&value), dtype);
    const auto weights = Kernel::pack(rows);
    ActivationsF32 input(1, 1);
    const testing::InputRows x(1, 1, {1.0f});
    Kernel::start(weights, 1, input);
    Kernel::prepare(weights, x.first(1), input, {0, 1});
    std::vector<float> y(bits.size());
    Kernel::multiply(weights, input, {y.data(), 1, y.size()}, {0, y.size()});
    for (std::size_t at = 0; at < bits.size(); ++at) {
      const float value = dtype == DType::f16 ? to_float(Half{bits[at]}) : to_float(BFloat16{bits[at]});
      // The sum begins at +0, so -0 is +0.
      if (!testing::same_value(y[at], value + 0.0f)) FAIL_CHECK(dtype_name(dtype) << " " << at << ": " << y[at]);
    }
    SUCCEED();
  }
}
