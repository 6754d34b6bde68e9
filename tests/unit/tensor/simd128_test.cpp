// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/simd128.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <catch2/catch_all.hpp>

#include "unit/kernel/instruction_sets.hpp"

#if defined(TULLE_SIMD128)

using namespace tulle;

namespace {

// Everything of simd128 is inlined into a function of its target.

template <class Element>
TULLE_TARGET_SIMD128 std::array<float, 4> four(const Element* from) {
  std::array<float, 4> out;
  simd128::store(out.data(), simd128::load4(from));
  return out;
}

TULLE_TARGET_SIMD128 std::array<std::int32_t, 4> rounded(const std::array<float, 4>& values) {
  std::array<std::int32_t, 4> out;
  simd128::store(out.data(), simd128::round(simd128::load4(values.data())));
  return out;
}

TULLE_TARGET_SIMD128 std::array<std::int8_t, 16> shuffled(const std::int8_t* table, const std::int8_t* order) {
  std::array<std::int8_t, 16> out;
  simd128::store(out.data(),
                 simd128::shuffle(simd128::load<simd128::I8x16>(table), simd128::load<simd128::I8x16>(order)));
  return out;
}

TULLE_TARGET_SIMD128 std::array<std::int8_t, 16> narrowed(const std::array<std::int32_t, 16>& wide) {
  simd128::I32x4 whole[4];
  for (std::size_t i = 0; i < 4; ++i) whole[i] = simd128::load<simd128::I32x4>(wide.data() + 4 * i);
  std::array<std::int8_t, 16> out;
  simd128::store(out.data(), simd128::narrow(whole));
  return out;
}

TULLE_TARGET_SIMD128 float multiplied_and_added(float a, float b, float c) {
  return simd128::multiply_add(simd128::splat(a), simd128::splat(b), simd128::splat(c))[2];
}

}  // namespace

TEST_CASE("every half, every bfloat16 and every int8 becomes its float", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  for (unsigned bits = 0; bits < 0x10000; bits += 4) {
    std::array<Half, 4> halves;
    std::array<BFloat16, 4> brains;
    for (unsigned i = 0; i < 4; ++i) halves[i].bits = brains[i].bits = static_cast<std::uint16_t>(bits + i);
    const auto from_halves = four(halves.data()), from_brains = four(brains.data());
    for (std::size_t i = 0; i < 4; ++i) {
      const float half = to_float(halves[i]);  // hardware makes signalling NaNs quiet
      if (std::isnan(half) ? !std::isnan(from_halves[i])
                           : std::bit_cast<std::uint32_t>(from_halves[i]) != std::bit_cast<std::uint32_t>(half)) {
        FAIL("half " << halves[i].bits << " is " << from_halves[i]);
      }
      if (std::bit_cast<std::uint32_t>(from_brains[i]) != std::bit_cast<std::uint32_t>(to_float(brains[i]))) {
        FAIL("bfloat16 " << brains[i].bits << " is " << from_brains[i]);
      }
    }
  }
  const std::array<std::int8_t, 4> bytes{-128, -1, 0, 127};
  CHECK(four(bytes.data()) == std::array{-128.0f, -1.0f, 0.0f, 127.0f});
}

TEST_CASE("halves are rounded to even", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  CHECK(rounded({0.5f, 1.5f, 2.5f, -0.5f}) == std::array<std::int32_t, 4>{0, 2, 2, 0});
  CHECK(rounded({-1.5f, -2.5f, 126.50001f, -127.0f}) == std::array<std::int32_t, 4>{-2, -2, 127, -127});
}

TEST_CASE("bytes are picked by their order", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  std::array<std::int8_t, 16> table, order, wanted;
  for (std::size_t i = 0; i < 16; ++i) {
    table[i] = static_cast<std::int8_t>(7 * i - 50);
    order[i] = static_cast<std::int8_t>(5 * i % 16);
    wanted[i] = static_cast<std::int8_t>(7 * (5 * i % 16) - 50);
  }
  CHECK(shuffled(table.data(), order.data()) == wanted);
}

TEST_CASE("integers of a byte are made narrow in their order", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  std::array<std::int32_t, 16> wide;
  for (std::size_t i = 0; i < 16; ++i) wide[i] = static_cast<std::int32_t>(17 * i) - 128;
  const auto narrow = narrowed(wide);
  for (std::size_t i = 0; i < 16; ++i) CHECK(int{narrow[i]} == wide[i]);
}

TEST_CASE("a product and a sum are rounded once where the set says so", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  CHECK(multiplied_and_added(1.0f + 0x1p-20f, 1.0f - 0x1p-20f, -1.0f) == (isa::Simd128::fuses ? -0x1p-40f : 0.0f));
}

#endif
