// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/signed_panels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

#if defined(TULLE_X86)

using namespace tulle;
using detail::SignedPanels;

namespace {

/// The 16 rows of a block times 16 activations.
TULLE_TARGET_AVX2 std::array<std::int32_t, panel_rows> products(const std::uint8_t* block, const std::int8_t* x) {
  std::array<std::int32_t, panel_rows> sums;
  const SignedPanels::Cursor cursor{block};
  for (std::size_t half = 0; half < 2; ++half) {
    __m256i eight = cursor.first(half);
    for (std::size_t s = 0; s < SignedPanels::steps; ++s) eight = cursor.step(isa::Avx2{}, s, half).dot(isa::Avx2{}, eight, x, s);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&sums[8 * half]), eight);
  }
  return sums;
}

void check(const std::array<std::int8_t, detail::block_codes>& codes, const std::array<std::int8_t, 16>& x) {
  alignas(64) std::uint8_t block[SignedPanels::block_bytes];
  SignedPanels::write(codes.data(), block);
  const auto sums = products(block, x.data());
  for (std::size_t row = 0; row < panel_rows; ++row) {
    std::int32_t expected = 0;
    for (std::size_t k = 0; k < 16; ++k) expected += int{codes[(k / 4 * panel_rows + row) * 4 + k % 4]} * x[k];
    REQUIRE(sums[row] == expected);
  }
}

}  // namespace

TEST_CASE("magnitudes and signs apart give the exact products", "[kernel][signed_panels]") {
  if (!machine_has(InstructionSet::avx2)) SKIP("this machine has no AVX2");
  testing::Numbers numbers(4);
  for (int round = 0; round < 100; ++round) {
    std::array<std::int8_t, detail::block_codes> codes;
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(numbers.bits());
    std::array<std::int8_t, 16> x;
    for (std::int8_t& value : x) value = static_cast<std::int8_t>(static_cast<int>(numbers.below(255)) - 127);
    check(codes, x);
  }
}

TEST_CASE("the largest products of either sign do not saturate", "[kernel][signed_panels]") {
  if (!machine_has(InstructionSet::avx2)) SKIP("this machine has no AVX2");
  for (const int w : {-128, -127, -1, 0, 1, 127}) {
    for (const int value : {-127, -1, 0, 1, 127}) {
      std::array<std::int8_t, detail::block_codes> codes;
      std::array<std::int8_t, 16> x;
      codes.fill(static_cast<std::int8_t>(w));
      x.fill(static_cast<std::int8_t>(value));
      check(codes, x);
    }
  }
}

#endif
