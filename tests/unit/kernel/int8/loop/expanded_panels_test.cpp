// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/expanded_panels.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/int8/balanced_i8.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>

#include "compiled/kernels.hpp"
#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

/// 8 of 16: a pattern that every layout of these tests takes.
testing::EncodedMatrix half_zeros(std::size_t rows, std::size_t columns) {
  return testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), {2, 4}, 7);
}

}  // namespace

TEMPLATE_TEST_CASE("blocks are expanded to dense ones, in parts too", "[kernel][expanded_panels]", detail::DensePanels,
                   detail::BitmaskPanels, (detail::BalancedPanels<detail::TwoOfFour, 8>)) {
  const auto matrix = half_zeros(16, 160);
  const detail::PackedPanels dense(matrix.rows, detail::I8Format::of<detail::DensePanels>(), nullptr);
  const detail::PackedPanels panels(matrix.rows, detail::I8Format::of<TestType>(), nullptr);
  AlignedBuffer<std::uint8_t> codes(16 * 160);
  const std::uint8_t* at = panels.bytes();
  std::size_t done = 0;
  for (const std::size_t count : {1, 7, 2}) {
    at = detail::expand_blocks<TestType, isa::Simd128>(at, count, codes.data() + done * detail::block_codes);
    done += count;
  }
  CHECK(std::equal(codes.data(), codes.data() + codes.size(), dense.bytes()));
}

namespace {

/// Of more inputs than are multiplied without expanding; the last panel and the last part of the columns are not whole.
template <class Layout, class Isa>
void check_bits() {
  constexpr std::size_t rows = 40, columns = 1120, inputs = 21;
  const auto matrix = half_zeros(rows, columns);
  const auto x = testing::random_floats(inputs * columns, 3);
  ActivationsI8 input(inputs, columns);
  input.start(inputs, columns, false);
  input.quantize<Isa>({x.data(), inputs, columns}, {0, inputs});
  std::vector<float> expected(inputs * rows), y(inputs * rows);
  using Reference = BasicDenseI8<testing::ReferenceSet<Isa>>;
  Reference::multiply(Reference::pack(matrix.rows), input, {expected.data(), inputs, rows}, {0, rows});
  const detail::PackedPanels panels(matrix.rows, detail::I8Format::of<Layout>(), nullptr);
  detail::multiply_expanded<detail::ExpandedLayout<Layout, Isa>, void, group_columns, Isa>(
      panels, detail::expand_blocks<Layout, Isa>, nullptr, panels.scales().floats(), input, {y.data(), inputs, rows},
      {0, rows});
  CAPTURE(Layout::name);
  CHECK(y == expected);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("expanded weights give the bits of dense ones", "[kernel][expanded_panels]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  check_bits<detail::BitmaskPanels, TestType>();
  if constexpr (!std::is_same_v<TestType, isa::Scalar>) {
    check_bits<detail::BalancedPanels<detail::TwoOfFour, 8>, TestType>();
    check_bits<detail::BalancedPanels<detail::EightOfSixteen, 8>, TestType>();
  }
}
