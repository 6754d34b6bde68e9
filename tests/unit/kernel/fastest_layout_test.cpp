// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/fastest_layout.hpp>

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
  CHECK_FALSE((none.two_of_four || none.four_of_sixteen || none.eight_of_sixteen_gap4));
  const I8Structure two = measure({2, 4});
  CHECK(two.nonzero_share == Catch::Approx(0.5).margin(0.01));
  CHECK(two.two_of_four);
  CHECK_FALSE(two.four_of_sixteen);
  CHECK(measure({1, 4}).four_of_sixteen);
  CHECK(measure({4, 16}).four_of_sixteen);
  const I8Structure eight = measure({8, 16, 4});
  CHECK(eight.eight_of_sixteen_gap4);
  CHECK_FALSE(eight.two_of_four);
  const I8Structure unstructured = measure({20, 64});
  CHECK(unstructured.nonzero_share == Catch::Approx(20.0 / 64).margin(0.01));
  CHECK_FALSE((unstructured.two_of_four || unstructured.four_of_sixteen || unstructured.eight_of_sixteen_gap4));
}

TEST_CASE("rows and columns of padding do not count as zeros", "[kernel][i8_choice]") {
  const auto matrix = testing::random_matrix(DType::i8, 17, 33, 3);
  CHECK(measure_i8(matrix.rows).nonzero_share > 0.97);
}

TEST_CASE("scales of groups are told from those of rows", "[kernel][i8_choice]") {
  CHECK(measure({}).scale_per_row);
  CHECK_FALSE(measure_i8(testing::random_matrix(DType::q8_0, 16, 64, 3).rows).scale_per_row);
  CHECK(measure_i8(testing::random_matrix(DType::f16, 16, 64, 3).rows).scale_per_row);
}

TEST_CASE("a layout is chosen by pattern, zeros and instruction set, and dense where sparse would lose",
          "[kernel][i8_choice]") {
  using enum KernelChoice;
  const auto unstructured = [](double share) { return I8Structure{.nonzero_share = share, .scale_per_row = true}; };
  const auto grouped = [](double share) { return I8Structure{.nonzero_share = share}; };
  const auto eight = I8Structure{.nonzero_share = 0.5, .scale_per_row = true, .eight_of_sixteen_gap4 = true};
  for (const bool intel : {false, true}) {
    for (const InstructionSet set : instruction_sets) {
      CHECK(fastest_i8(unstructured(1), set, intel) == dense_i8);
      CHECK(fastest_i8(unstructured(0.85), set, intel) == dense_i8);
      const bool scalar = set == InstructionSet::scalar, simd128 = set == InstructionSet::simd128;
      const I8Structure four{.nonzero_share = 0.25,
                             .scale_per_row = true,
                             .four_of_sixteen = true,
                             .eight_of_sixteen_gap4 = true,
                             .eight_of_sixteen = true};
      CHECK(fastest_i8(four, set, intel) == (scalar ? dense_i8 : four_of_sixteen_i8));
      const I8Structure two{
          .nonzero_share = 0.5, .two_of_four = true, .eight_of_sixteen_gap4 = true, .eight_of_sixteen = true};
      CHECK(fastest_i8(two, set, intel) == (scalar ? dense_i8 : simd128 ? eight_of_sixteen_i8 : two_of_four_i8));
      CHECK(fastest_i8(unstructured(0.1), set, intel) == (scalar || simd128 ? dense_i8 : ell_i8));
      CHECK(fastest_i8(grouped(0.1), set, intel) == (set == InstructionSet::avx512 ? bitmask_i8 : dense_i8));
      const I8Structure few{
          .nonzero_share = 0.05, .scale_per_row = true, .eight_of_sixteen_gap4 = true, .eight_of_sixteen = true};
      CHECK(fastest_i8(few, set, intel) == (scalar ? dense_i8 : simd128 ? eight_of_sixteen_i8 : ell_i8));
    }
    CHECK(fastest_i8(eight, InstructionSet::avx2, intel) == eight_of_sixteen_gap4_i8);
    const I8Structure any{.nonzero_share = 0.5, .eight_of_sixteen = true};
    CHECK(fastest_i8(any, InstructionSet::avx2, intel) == eight_of_sixteen_i8);
    CHECK(fastest_i8(any, InstructionSet::avx512, intel) == bitmask_i8);
    CHECK(fastest_i8(eight, InstructionSet::avx512, intel) == eight_of_sixteen_gap4_i8);
    CHECK(fastest_i8(unstructured(0.5), InstructionSet::avx512, intel) == bitmask_i8);
    CHECK(fastest_i8(unstructured(0.5), InstructionSet::avx2, intel) == ell_i8);
    CHECK(fastest_i8(unstructured(0.5), InstructionSet::avx_vnni, intel) == (intel ? dense_i8 : ell_i8));
    CHECK(fastest_i8(unstructured(0.3), InstructionSet::avx2, intel) == ell_i8);
    CHECK(fastest_i8(unstructured(0.2), InstructionSet::avx512, intel) == (intel ? bitmask_i8 : ell_i8));
    CHECK(fastest_i8(grouped(0.5), InstructionSet::avx2, intel) == dense_i8);
  }
}

TEST_CASE("4-bit weights are dense where no pattern is kept", "[kernel][i8_choice]") {
  using enum KernelChoice;
  const auto choice = [](testing::Zeros zeros, InstructionSet set) {
    return fastest_i4(measure_i4(testing::pruned(testing::random_matrix(DType::q4_0, 96, 256, 3), zeros, 4).rows), set);
  };
  for (const InstructionSet set : instruction_sets) {
    const bool scalar = set == InstructionSet::scalar, narrow = scalar || set == InstructionSet::simd128;
    CHECK(choice({}, set) == dense_i4);
    CHECK(choice({6, 10}, set) == dense_i4);
    CHECK(choice({4, 16}, set) == (scalar ? dense_i4 : four_of_sixteen_i4));
    CHECK(choice({2, 4}, set) == (narrow ? dense_i4 : two_of_four_i4));
    CHECK(choice({8, 16, 4}, set) == (narrow ? dense_i4 : eight_of_sixteen_gap4_i4));
  }
}
