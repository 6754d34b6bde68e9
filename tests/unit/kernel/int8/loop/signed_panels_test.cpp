// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/signed_panels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/block_products.hpp"

#if defined(TULLE_X86)

using namespace tulle;
using detail::SignedPanels;

namespace {

/// The 16 rows of a block times 16 activations.
TULLE_TARGET_AVX2 std::array<std::int32_t, panel_rows> signed_products(const std::uint8_t* block,
                                                                       const std::int8_t* x) {
  std::array<std::int32_t, panel_rows> sums;
  const SignedPanels::Cursor cursor{block};
  for (std::size_t half = 0; half < 2; ++half) {
    __m256i eight = cursor.first(half);
    for (std::size_t s = 0; s < SignedPanels::steps; ++s)
      eight = cursor.step(isa::Avx2{}, s, half).dot(isa::Avx2{}, eight, x, s);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&sums[8 * half]), eight);
  }
  return sums;
}

}  // namespace

TEST_CASE("magnitudes and signs apart give the exact products, the largest too", "[kernel][signed_panels]") {
  if (!isa::Avx2::available()) SKIP("this machine has no AVX2");
  testing::check_block_products<SignedPanels>(signed_products);
}

#endif
