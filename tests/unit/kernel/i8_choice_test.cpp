// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/i8_choice.hpp>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

I8Structure measure(testing::Zeros zeros, std::size_t rows = 96) {
  return measure_i8(testing::pruned(testing::random_matrix(DType::i8, rows, 256, 3), zeros, 4).rows);
}

}  // namespace

TEST_CASE("zeros and their pattern are measured", "[kernel][i8_choice]") {
  const I8Structure none = measure({});
  CHECK(none.nonzero_share > 0.98);
  CHECK_FALSE((none.two_of_four || none.four_of_sixteen || none.eight_of_sixteen));
  const I8Structure two = measure({2, 4});
  CHECK(two.nonzero_share == Catch::Approx(0.5).margin(0.01));
  CHECK(two.two_of_four);
  CHECK_FALSE(two.four_of_sixteen);
  CHECK(measure({1, 4}).four_of_sixteen);
  CHECK(measure({4, 16}).four_of_sixteen);
  const I8Structure eight = measure({8, 16, 4});
  CHECK(eight.eight_of_sixteen);
  CHECK_FALSE(eight.two_of_four);
  const I8Structure unstructured = measure({20, 64});
  CHECK(unstructured.nonzero_share == Catch::Approx(20.0 / 64).margin(0.01));
  CHECK_FALSE((unstructured.two_of_four || unstructured.four_of_sixteen || unstructured.eight_of_sixteen));
}

TEST_CASE("rows and columns of padding do not count as zeros", "[kernel][i8_choice]") {
  const auto matrix = testing::random_matrix(DType::i8, 17, 33, 3);
  CHECK(measure_i8(matrix.rows).nonzero_share > 0.97);
}

TEST_CASE("a layout is chosen by pattern, zeros and instruction set, and dense where sparse would lose",
          "[kernel][i8_choice]") {
  using enum KernelChoice;
  for (const InstructionSet set : instruction_sets) {
    CHECK(fastest_i8({1, false, false, false}, set) == dense_i8);
    CHECK(fastest_i8({0.85, false, false, false}, set) == dense_i8);
    const bool scalar = set == InstructionSet::scalar;
    CHECK(fastest_i8({0.25, false, true, true}, set) == (scalar ? dense_i8 : four_of_sixteen_i8));
    CHECK(fastest_i8({0.5, true, false, true}, set) == (scalar ? dense_i8 : two_of_four_i8));
    CHECK(fastest_i8({0.1, false, false, false}, set) == (set == InstructionSet::avx512 ? bitmask_i8 : dense_i8));
    CHECK(fastest_i8({0.1, false, false, true}, InstructionSet::avx512) == bitmask_i8);
  }
  CHECK(fastest_i8({0.5, false, false, true}, InstructionSet::avx2) == eight_of_sixteen_i8);
  CHECK(fastest_i8({0.5, false, false, true}, InstructionSet::avx512) == bitmask_i8);
  CHECK(fastest_i8({0.5, false, false, false}, InstructionSet::avx512) == bitmask_i8);
  CHECK(fastest_i8({0.5, false, false, false}, InstructionSet::avx2) == dense_i8);
}
