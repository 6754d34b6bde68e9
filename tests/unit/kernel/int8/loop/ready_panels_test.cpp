// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/ready_panels.hpp>

#include <array>
#include <optional>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/int8/balanced_i4.hpp>
#include <tulle/kernel/int8/balanced_i8.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

#if defined(TULLE_X86)

namespace {

/// The sums of 16 rows that a block gives with 16 activations.
template <class Cursor, class Start>
TULLE_TARGET_AVX2 std::array<std::int32_t, panel_rows> products(Cursor cursor, std::size_t steps, const std::int8_t* x,
                                                                Start start) {
  std::array<std::int32_t, panel_rows> sums;
  __m256i halves[2] = {start(cursor, 0), start(cursor, 1)};
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t half = 0; half < 2; ++half) {
      halves[half] = cursor.step(isa::Avx2{}, s, half).dot(isa::Avx2{}, halves[half], x, s);
    }
  }
  for (std::size_t half = 0; half < 2; ++half)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&sums[8 * half]), halves[half]);
  return sums;
}

}  // namespace

TEMPLATE_TEST_CASE("a block that was made ready gives the products of the block, the largest too",
                   "[kernel][ready_panels]", (detail::BalancedPanels<detail::TwoOfFour, 8>),
                   (detail::BalancedPanels<detail::TwoOfFour, 4>),
                   (detail::BalancedPanels<detail::EightOfSixteen, 8>)) {
  if (!isa::Avx2::available()) SKIP("this machine has no AVX2");
  using Ready = detail::ReadyPanels256<TestType>;
  const DType dtype = TestType::code_bits == 8 ? DType::i8 : DType::q4_0;
  for (const bool extreme : {false, true}) {
    const auto code = extreme ? std::optional<std::uint8_t>(TestType::code_bits == 8 ? 0x80 : 0) : std::nullopt;
    const auto matrix = testing::pruned(testing::MatrixEncoder(dtype, 6, code).encode(16, 64), {2, 4}, 7);
    const detail::PackedPanels panels(matrix.rows, detail::I8Format::of<TestType>(), nullptr);
    testing::Numbers numbers(8);
    for (std::size_t block = 0; block < 4; ++block) {
      alignas(16) std::int8_t x[16];
      for (auto& value : x)
        value = static_cast<std::int8_t>(extreme ? 127 - 254 * (block % 2) : numbers.below(255) - 127);
      AlignedBuffer<std::uint8_t> bytes(Ready::block_bytes);
      const std::uint8_t* packed = panels.bytes() + block * TestType::block_bytes;
      typename TestType::Cursor cursor{packed};
      Ready::write(cursor, block, bytes.data());
      const auto zero = [](auto&, std::size_t) TULLE_TARGET_AVX2 { return _mm256_setzero_si256(); };
      const auto first = [](auto& of, std::size_t half) TULLE_TARGET_AVX2 { return of.first(half); };
      const auto expected = products(typename TestType::Cursor{packed}, TestType::steps, x, zero);
      CHECK(products(typename Ready::Cursor{bytes.data()}, Ready::steps, x, first) == expected);
    }
  }
}

#endif
