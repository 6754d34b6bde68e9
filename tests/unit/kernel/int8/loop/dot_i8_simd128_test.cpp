// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/dot_i8_simd128.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/instruction_sets.hpp"

#if defined(TULLE_SIMD128)

using namespace tulle;

namespace {

/// The dot products of 4 rows with the same 4 activations, added `times` times, and with activations of their own.
TULLE_TARGET_SIMD128 std::array<std::int32_t, 8> products_of_four(const std::int8_t* codes, const std::int8_t* x,
                                                                  int times) {
  simd128::Sums same;
  simd128::PickedSums own;
  const simd128::Codes w = simd128::Codes::of(simd128::load<simd128::I8x16>(codes));
  const simd128::Codes again = simd128::Codes::at(reinterpret_cast<const std::uint8_t*>(codes));
  for (int i = 0; i < times; ++i) {
    same.add(w, simd128::Quad::of(x));
    own.add(again, simd128::load<simd128::I8x16>(x),
            simd128::I8x16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  }
  std::array<std::int32_t, 8> out;
  simd128::store(out.data(), same.total());
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

}  // namespace

TEST_CASE("products of codes and activations are exact at their extremes", "[kernel][i8_products_simd128]") {
  testing::require_machine<isa::Simd128>();
  constexpr int times = 9;
  for (const int code : {-128, -127, -1, 0, 1, 127}) {
    for (const int activation : {-127, -1, 0, 1, 127}) {
      std::array<std::int8_t, 16> codes, x;
      codes.fill(static_cast<std::int8_t>(code));
      x.fill(static_cast<std::int8_t>(activation));
      CAPTURE(code, activation);
      for (const std::int32_t sum : products_of_four(codes.data(), x.data(), times))
        CHECK(sum == 4 * times * code * activation);
    }
  }
  std::array<std::int8_t, 16> codes, x;
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 256) - 128);
    x[i] = static_cast<std::int8_t>(static_cast<int>(i * 91 % 255) - 127);
  }
  const auto sums = products_of_four(codes.data(), x.data(), 1);
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

TEST_CASE("codes without a sign meet activations with one", "[kernel][i8_products_simd128]") {
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

#endif
