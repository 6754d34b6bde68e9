// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/simd128.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
  simd128::store(out.data(), simd128::shuffle(simd128::load<simd128::I8x16>(table), simd128::load<simd128::I8x16>(order)));
  return out;
}

/// The dot products of 4 rows with the same 4 activations, added `times` times, and with activations of their own.
TULLE_TARGET_SIMD128 std::array<std::int32_t, 8> products(const std::int8_t* codes, const std::int8_t* x, int times) {
  std::array<std::int8_t, simd128::sign_distance + 4> split{};
  std::int32_t lacking = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    split[k] = static_cast<std::int8_t>(simd128::splits_activations ? std::abs(x[k]) : x[k]);
    split[simd128::sign_distance + k] = static_cast<std::int8_t>(x[k] < 0 ? -1 : 0);
    if (simd128::splits_activations && x[k] < 0) lacking += times * -x[k];
  }
  simd128::Sums same;
  simd128::PickedSums own;
  const simd128::Codes w = simd128::Codes::of(simd128::load<simd128::I8x16>(codes));
  const simd128::Codes again = simd128::Codes::at(reinterpret_cast<const std::uint8_t*>(codes));
  for (int i = 0; i < times; ++i) {
    same.add(w, simd128::Quad::of(split.data()));
    own.add(again, simd128::load<simd128::I8x16>(x), simd128::I8x16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  }
  std::array<std::int32_t, 8> out;
  simd128::store(out.data(), same.total() + simd128::splat(lacking));
  simd128::store(out.data() + 4, own.total());
  return out;
}

TULLE_TARGET_SIMD128 std::array<std::int32_t, 4> positive_products(const std::int8_t* codes, const std::int8_t* x) {
  simd128::Sums sums;
  sums.add_positive(simd128::Codes::of(simd128::load<simd128::I8x16>(codes)), x);
  std::array<std::int32_t, 4> out;
  simd128::store(out.data(), sums.total());
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

TEST_CASE("products of codes and activations are exact at their extremes", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  constexpr int times = 9;
  for (const int code : {-128, -127, -1, 0, 1, 127}) {
    for (const int activation : {-127, -1, 0, 1, 127}) {
      std::array<std::int8_t, 16> codes, x;
      codes.fill(static_cast<std::int8_t>(code));
      x.fill(static_cast<std::int8_t>(activation));
      CAPTURE(code, activation);
      for (const std::int32_t sum : products(codes.data(), x.data(), times)) CHECK(sum == 4 * times * code * activation);
    }
  }
  std::array<std::int8_t, 16> codes, x;
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 256) - 128);
    x[i] = static_cast<std::int8_t>(static_cast<int>(i * 91 % 255) - 127);
  }
  const auto sums = products(codes.data(), x.data(), 1);
  for (std::size_t row = 0; row < 4; ++row) {
    int same = 0, own = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      same += codes[4 * row + k] * x[k];
      own += codes[4 * row + k] * x[4 * row + k];
    }
    CHECK(sums[row] == same);
    CHECK(sums[4 + row] == own);
  }
}

TEST_CASE("codes without a sign meet activations with one", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  for (const int code : {0, 1, 15, 127}) {
    for (const int activation : {-127, -1, 0, 1, 127}) {
      std::array<std::int8_t, 16> codes, x;
      codes.fill(static_cast<std::int8_t>(code));
      x.fill(static_cast<std::int8_t>(activation));
      for (const std::int32_t sum : positive_products(codes.data(), x.data())) CHECK(sum == 4 * code * activation);
    }
  }
}

TEST_CASE("a product and a sum are rounded once where the set says so", "[tensor][simd128]") {
  testing::require_machine<isa::Simd128>();
  CHECK(multiplied_and_added(1.0f + 0x1p-20f, 1.0f - 0x1p-20f, -1.0f) == (isa::Simd128::fuses ? -0x1p-40f : 0.0f));
}

#endif
