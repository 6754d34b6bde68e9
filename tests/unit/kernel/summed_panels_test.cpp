// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/summed_panels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

#if defined(TULLE_X86)

using namespace tulle;
using detail::SummedPanels;

namespace {

/// The 16 rows of a block times 16 activations.
TULLE_TARGET_AVX512 std::array<std::int32_t, panel_rows> products(const std::uint8_t* block, const std::int8_t* x) {
  std::uint8_t offset_codes[16];
  for (std::size_t k = 0; k < 16; ++k) offset_codes[k] = static_cast<std::uint8_t>(x[k] + 128);
  const SummedPanels::Cursor cursor{block};
  __m512i sums = _mm512_sub_epi32(_mm512_setzero_si512(), cursor.add_codes(_mm512_setzero_si512()));
  for (std::size_t s = 0; s < SummedPanels::steps; ++s) sums = cursor.step(isa::Avx512{}, s, 0).dot(sums, offset_codes, 0, s);
  std::array<std::int32_t, panel_rows> out;
  _mm512_storeu_si512(out.data(), sums);
  return out;
}

void check(const std::array<std::int8_t, detail::block_codes>& codes, const std::array<std::int8_t, 16>& x) {
  alignas(64) std::uint8_t block[SummedPanels::block_bytes];
  SummedPanels::write(codes.data(), block);
  const auto sums = products(block, x.data());
  for (std::size_t row = 0; row < panel_rows; ++row) {
    std::int32_t expected = 0;
    for (std::size_t k = 0; k < 16; ++k) expected += int{codes[(k / 4 * panel_rows + row) * 4 + k % 4]} * x[k];
    REQUIRE(sums[row] == expected);
  }
}

}  // namespace

TEST_CASE("activations with an offset and the sums of the weights give the exact products", "[kernel][summed_panels]") {
  if (!machine_has(InstructionSet::avx512)) SKIP("this machine has no AVX-512");
  testing::Numbers numbers(4);
  for (int round = 0; round < 100; ++round) {
    std::array<std::int8_t, detail::block_codes> codes;
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(numbers.bits());
    std::array<std::int8_t, 16> x;
    for (std::int8_t& value : x) value = static_cast<std::int8_t>(static_cast<int>(numbers.below(255)) - 127);
    check(codes, x);
  }
}

TEST_CASE("the largest products of either sign do not saturate", "[kernel][summed_panels]") {
  if (!machine_has(InstructionSet::avx512)) SKIP("this machine has no AVX-512");
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
