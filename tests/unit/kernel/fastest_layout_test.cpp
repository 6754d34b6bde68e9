// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/fastest_layout.hpp>

#include <type_traits>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

I8Structure measure(testing::Zeros zeros, std::size_t rows = 96) {
  return measure_i8(testing::pruned(testing::random_matrix(DType::i8, rows, 256, 3), zeros, 4).rows);
}

template <class Check>
void for_every_set(Check&& check) {
  check(isa::Scalar{});
  check(isa::Simd128{});
  check(isa::Avx2{});
  check(isa::AvxVnni{});
  check(isa::Avx512{});
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

TEST_CASE("scales of groups are distinguished from those of rows", "[kernel][i8_choice]") {
  CHECK(measure({}).scale_per_row);
  CHECK_FALSE(measure_i8(testing::random_matrix(DType::q8_0, 16, 64, 3).rows).scale_per_row);
  CHECK(measure_i8(testing::random_matrix(DType::f16, 16, 64, 3).rows).scale_per_row);
}

TEST_CASE("a layout is chosen by pattern, sparsity, instruction set and CPU, and dense where sparse would be slower",
          "[kernel][i8_choice]") {
  const auto unstructured = [](double share) { return I8Structure{.nonzero_share = share, .scale_per_row = true}; };
  const auto grouped = [](double share) { return I8Structure{.nonzero_share = share}; };
  const auto eight = I8Structure{.nonzero_share = 0.5, .scale_per_row = true, .eight_of_sixteen_gap4 = true};
  for (const Machine& machine :
       {machines::zen3, machines::zen4, machines::zen5, machines::intel, machines::intel_avx_vnni, machines::unknown}) {
    CAPTURE(machine.name);
    const bool intel = machine.name.starts_with("Intel");
    for_every_set([&]<class Isa>(Isa set) {
      CAPTURE(Isa::name);
      CHECK(fastest_i8(set, unstructured(1), machine) == "dense_i8");
      CHECK(fastest_i8(set, unstructured(0.85), machine) == "dense_i8");
      constexpr bool scalar = std::is_same_v<Isa, isa::Scalar>, simd128 = std::is_same_v<Isa, isa::Simd128>;
      const I8Structure four{.nonzero_share = 0.25,
                             .scale_per_row = true,
                             .four_of_sixteen = true,
                             .eight_of_sixteen_gap4 = true,
                             .eight_of_sixteen = true};
      CHECK(fastest_i8(set, four, machine) == (scalar ? "dense_i8" : FourOfSixteenI8::name));
      const I8Structure two{
          .nonzero_share = 0.5, .two_of_four = true, .eight_of_sixteen_gap4 = true, .eight_of_sixteen = true};
      CHECK(fastest_i8(set, two, machine) == (scalar    ? "dense_i8"
                                              : simd128 ? EightOfSixteenI8::name
                                                        : TwoOfFourI8::name));
      CHECK(fastest_i8(set, unstructured(0.1), machine) == (scalar || simd128 ? "dense_i8" : "ell_i8"));
      CHECK(fastest_i8(set, grouped(0.1), machine) ==
            (std::is_same_v<Isa, isa::Avx512> ? BitmaskI8::name : DenseI8::name));
      const I8Structure few{
          .nonzero_share = 0.05, .scale_per_row = true, .eight_of_sixteen_gap4 = true, .eight_of_sixteen = true};
      CHECK(fastest_i8(set, few, machine) == (scalar ? "dense_i8" : simd128 ? EightOfSixteenI8::name : EllI8::name));
    });
    constexpr isa::Avx2 avx2;
    constexpr isa::AvxVnni avx_vnni;
    constexpr isa::Avx512 avx512;
    CHECK(fastest_i8(avx2, eight, machine) == EightOfSixteenGap4I8::name);
    const I8Structure any{.nonzero_share = 0.5, .eight_of_sixteen = true};
    CHECK(fastest_i8(avx2, any, machine) == EightOfSixteenI8::name);
    CHECK(fastest_i8(avx512, any, machine) == BitmaskI8::name);
    CHECK(fastest_i8(avx512, eight, machine) == EightOfSixteenGap4I8::name);
    CHECK(fastest_i8(avx512, unstructured(0.5), machine) == BitmaskI8::name);
    CHECK(fastest_i8(avx2, unstructured(0.5), machine) == EllI8::name);
    CHECK(fastest_i8(avx_vnni, unstructured(0.5), machine) ==
          (machine.name == "Intel AVX-VNNI" ? DenseI8::name : EllI8::name));
    CHECK(fastest_i8(avx2, unstructured(0.3), machine) == EllI8::name);
    CHECK(fastest_i8(avx512, unstructured(0.2), machine) == (intel ? BitmaskI8::name : EllI8::name));
    CHECK(fastest_i8(avx2, grouped(0.5), machine) == DenseI8::name);
    const auto of_4_bits = [](double share) {
      return I8Structure{.nonzero_share = share, .scale_per_row = true, .has_4_bits = true};
    };
    for_every_set([&]<class Isa>(Isa set) {
      constexpr bool has_ell = !std::is_same_v<Isa, isa::Scalar> && !std::is_same_v<Isa, isa::Simd128>;
      CHECK(fastest_i8(set, of_4_bits(0.4), machine) == (has_ell ? EllI4::name : DenseI8::name));
      CHECK(fastest_i8(set, of_4_bits(0.9), machine) == DenseI8::name);
    });
  }
}

TEST_CASE("4-bit weights are dense where no pattern is kept", "[kernel][i8_choice]") {
  const auto structure = [](testing::Zeros zeros) {
    return measure_i4(testing::pruned(testing::random_matrix(DType::q4_0, 96, 256, 3), zeros, 4).rows);
  };
  for_every_set([&]<class Isa>(Isa set) {
    CAPTURE(Isa::name);
    constexpr bool scalar = std::is_same_v<Isa, isa::Scalar>, narrow = scalar || std::is_same_v<Isa, isa::Simd128>;
    CHECK(fastest_i4(set, structure({})) == "dense_i4");
    CHECK(fastest_i4(set, structure({6, 10})) == "dense_i4");
    CHECK(fastest_i4(set, structure({4, 16})) == (scalar ? "dense_i4" : FourOfSixteenI4::name));
    CHECK(fastest_i4(set, structure({2, 4})) == (narrow ? "dense_i4" : TwoOfFourI4::name));
    CHECK(fastest_i4(set, structure({8, 16, 4})) == (narrow ? "dense_i4" : EightOfSixteenGap4I4::name));
  });
}
