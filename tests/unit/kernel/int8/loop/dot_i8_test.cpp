// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/dot_i8.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

#if defined(TULLE_X86)

namespace {

using Codes = std::array<std::int8_t, 64>;  // [16 rows][4]
using Sums = std::array<std::int32_t, 16>;

Sums expected(const Codes& codes, const std::int8_t* x, std::size_t s, std::int32_t start) {
  Sums sums;
  for (std::size_t row = 0; row < 16; ++row) {
    sums[row] = start;
    for (std::size_t k = 0; k < 4; ++k) sums[row] += codes[4 * row + k] * x[4 * s + k];
  }
  return sums;
}

/// With AVX-VNNI as with AVX-512 the loop starts the sums at -128 times the sum of the activations.
template <class Isa>
TULLE_TARGET_AVX2 Sums with_avx2(const Codes& codes, const std::int8_t* x, std::size_t s, std::int32_t start) {
  for (std::size_t k = 0; k < 4 && std::is_same_v<Isa, isa::AvxVnni>; ++k) start -= 128 * x[4 * s + k];
  Sums sums;
  for (std::size_t half = 0; half < 2; ++half) {
    const auto* eight = reinterpret_cast<const __m256i*>(codes.data() + 32 * half);
    const auto step = detail::DenseStep256::of(_mm256_loadu_si256(eight));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums.data() + 8 * half),
                        step.dot(Isa{}, _mm256_set1_epi32(start), x, s));
  }
  return sums;
}

TULLE_TARGET_AVX512 Sums with_avx512(const Codes& codes, const std::int8_t* x, std::size_t s, std::int32_t start) {
  for (std::size_t k = 0; k < 4; ++k) start -= 128 * x[4 * s + k];
  Sums sums;
  const auto step = detail::DenseStep512::of(_mm512_loadu_si512(codes.data()));
  _mm512_storeu_si512(sums.data(), step.dot(_mm512_set1_epi32(start), x, 0, s));
  return sums;
}

}  // namespace

TEST_CASE("products are exact for every weight and activation", "[kernel][dot_i8]") {
  testing::Numbers numbers(3);
  for (int round = 0; round < 4000; ++round) {
    Codes codes;
    alignas(16) std::int8_t x[16];
    for (auto& code : codes) {
      constexpr std::array ends{-128, -127, 127, 0};
      code = static_cast<std::int8_t>(round % 2 == 0 ? ends[numbers.below(4)]
                                                     : static_cast<int>(numbers.below(256)) - 128);
    }
    for (auto& code : x) {
      constexpr std::array ends{-127, 127};
      code = static_cast<std::int8_t>(round % 2 == 0 ? ends[numbers.below(2)]
                                                     : static_cast<int>(numbers.below(255)) - 127);
    }
    const std::size_t s = numbers.below(4);
    const Sums sums = expected(codes, x, s, 1000 - round);
    if (isa::Avx2::available()) REQUIRE(with_avx2<isa::Avx2>(codes, x, s, 1000 - round) == sums);
    if (testing::runs_avx_vnni()) REQUIRE(with_avx2<isa::AvxVnni>(codes, x, s, 1000 - round) == sums);
    if (isa::Avx512::available()) REQUIRE(with_avx512(codes, x, s, 1000 - round) == sums);
  }
}

#endif

#if defined(TULLE_SIMD128)

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

TEST_CASE("products of codes and activations are exact at their extremes", "[kernel][dot_i8]") {
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

TEST_CASE("codes without a sign are multiplied by activations with one", "[kernel][dot_i8]") {
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
