// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/summed_panels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/block_products.hpp"

#if defined(TULLE_X86)

using namespace tulle;
using detail::SummedPanels;

namespace {

/// The 16 rows of a block times 16 activations.
TULLE_TARGET_AVX512 std::array<std::int32_t, panel_rows> summed_products(const std::uint8_t* block,
                                                                         const std::int8_t* x) {
  std::uint8_t offset_codes[16];
  for (std::size_t k = 0; k < 16; ++k) offset_codes[k] = static_cast<std::uint8_t>(x[k] + 128);
  const SummedPanels::Cursor cursor{block};
  __m512i sums = _mm512_sub_epi32(_mm512_setzero_si512(), cursor.add_codes(_mm512_setzero_si512()));
  for (std::size_t s = 0; s < SummedPanels::steps; ++s)
    sums = cursor.step(isa::Avx512{}, s, 0).dot(sums, offset_codes, 0, s);
  std::array<std::int32_t, panel_rows> out;
  _mm512_storeu_si512(out.data(), sums);
  return out;
}

}  // namespace

TEST_CASE("activations with an offset and the sums of the weights give the exact products, the largest too",
          "[kernel][summed_panels]") {
  if (!isa::Avx512::available()) SKIP("this machine has no AVX-512");
  testing::check_block_products<SummedPanels>(summed_products);
}

#endif
