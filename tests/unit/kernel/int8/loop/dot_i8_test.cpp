// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/dot_i8.hpp>

#include <array>

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

TEST_CASE("products are exact for every weight and activation", "[kernel][i8_step]") {
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
