// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/loop/unpacked_blocks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/int8/balanced.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

/// 8 of 16: a pattern that every layout of these tests takes.
testing::EncodedMatrix half_zeros(std::size_t rows, std::size_t columns) {
  return testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), {2, 4}, 7);
}

}  // namespace

TEMPLATE_TEST_CASE("blocks are unpacked to dense ones, in parts too", "[kernel][unpacked_blocks]", detail::DenseBlocks,
                   detail::BitmaskBlocks, (detail::BalancedBlocks<detail::TwoOfFour, 8>)) {
  testing::require_machine<isa::Simd128>();
  const auto matrix = half_zeros(16, 160);
  const detail::PackedPanels dense(matrix.rows, detail::I8Format::of<detail::DenseBlocks>(), nullptr);
  const detail::PackedPanels panels(matrix.rows, detail::I8Format::of<TestType>(), nullptr);
  AlignedBuffer<std::uint8_t> codes(16 * 160);
  const std::uint8_t* at = panels.bytes();
  std::size_t done = 0;
  for (const std::size_t count : {1, 7, 2}) {
    at = detail::unpack_blocks<TestType, isa::Simd128>(at, count, codes.data() + done * detail::block_codes);
    done += count;
  }
  CHECK(std::equal(codes.data(), codes.data() + codes.size(), dense.bytes()));
}

namespace {

/// Some sets unpack some layouts for no number of rows.
template <class Layout, class Isa>
  requires(std::is_same_v<detail::UnpackedLayout<Layout, Isa>, Layout>)
void check_unpacked_bits(std::size_t) {}

/// The last panel and the last part of the columns are not whole.
template <class Layout, class Isa>
void check_unpacked_bits(std::size_t inputs) {
  constexpr std::size_t rows = 40, columns = 1120;
  const auto matrix = half_zeros(rows, columns);
  const auto x = testing::random_floats(inputs * columns, 3);
  ActivationsI8 input(inputs, columns);
  input.start(inputs, columns, false);
  input.quantize<Isa>({x.data(), inputs, columns}, {0, inputs});
  std::vector<float> expected(inputs * rows), y(inputs * rows);
  using Reference = BasicDenseI8<testing::ReferenceSet<Isa>>;
  Reference::multiply(Reference::pack(matrix.rows), input, {expected.data(), inputs, rows}, {0, rows});
  const detail::PackedPanels panels(matrix.rows, detail::I8Format::of<Layout>(), nullptr);
  detail::multiply_unpacked<detail::UnpackedLayout<Layout, Isa>, Isa>(panels, detail::unpack_blocks<Layout, Isa>, input,
                                                                      {y.data(), inputs, rows}, {0, rows});
  CAPTURE(Layout::name, inputs);
  CHECK(y == expected);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("unpacked weights give the bits of dense ones", "[kernel][unpacked_blocks]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const std::size_t inputs : {1, 2, 21}) {
    check_unpacked_bits<detail::BitmaskBlocks, TestType>(inputs);
    check_unpacked_bits<detail::BalancedBlocks<detail::TwoOfFour, 8>, TestType>(inputs);
    check_unpacked_bits<detail::BalancedBlocks<detail::EightOfSixteen, 8>, TestType>(inputs);
  }
}

#if defined(TULLE_X86)

namespace {

using Sums = std::array<std::int32_t, panel_rows>;

/// The products of 16 rows of a block with 16 activations, on AVX2 from a layout's cursor.
template <class Cursor, class Start>
TULLE_TARGET_AVX2 Sums products_avx2(Cursor cursor, std::size_t steps, const std::int8_t* x, Start start) {
  Sums sums;
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
template <class Blocks>
Sums unpacked_products_avx2(const std::uint8_t* block, const std::int8_t* x) {
  const auto first = [](auto& cursor, std::size_t half) TULLE_TARGET_AVX2 { return cursor.first(half); };
  return products_avx2(typename Blocks::Cursor{block}, Blocks::steps, x, first);
}

template <class Blocks>
TULLE_TARGET_AVX512 Sums unpacked_products_avx512(const std::uint8_t* block, const std::int8_t* x) {
  std::uint8_t offset_codes[16];
  for (std::size_t k = 0; k < 16; ++k) offset_codes[k] = static_cast<std::uint8_t>(x[k] + 128);
  const typename Blocks::Cursor cursor{block};
  __m512i sums = _mm512_sub_epi32(_mm512_setzero_si512(), cursor.add_codes(_mm512_setzero_si512()));
  for (std::size_t s = 0; s < Blocks::steps; ++s) sums = cursor.step(isa::Avx512{}, s, 0).dot(sums, offset_codes, 0, s);
  Sums out;
  _mm512_storeu_si512(out.data(), sums);
  return out;
}

/// Random and extreme blocks of dense codes.
template <class Blocks, class Products>
void check_dense_products(Products&& products) {
  alignas(64) std::array<std::uint8_t, detail::block_codes> codes;
  alignas(16) std::array<std::int8_t, 16> x;
  const auto check = [&] {
    alignas(64) std::uint8_t block[Blocks::block_bytes];
    detail::DenseBlocks::Cursor cursor{codes.data()};
    Blocks::write(cursor, 0, block);
    const Sums sums = products(block, x.data());
    for (std::size_t row = 0; row < panel_rows; ++row) {
      std::int32_t expected = 0;
      for (std::size_t k = 0; k < 16; ++k) {
        expected += static_cast<std::int8_t>(codes[(k / 4 * panel_rows + row) * 4 + k % 4]) * x[k];
      }
      REQUIRE(sums[row] == expected);
    }
  };
  testing::Numbers numbers(4);
  for (int round = 0; round < 100; ++round) {
    for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(numbers.bits());
    for (std::int8_t& value : x) value = static_cast<std::int8_t>(static_cast<int>(numbers.below(255)) - 127);
    check();
  }
  for (const int w : {-128, -127, -1, 0, 1, 127}) {
    for (const int value : {-127, -1, 0, 1, 127}) {
      codes.fill(static_cast<std::uint8_t>(w));
      x.fill(static_cast<std::int8_t>(value));
      check();
    }
  }
}

}  // namespace

TEST_CASE("unpacked dense blocks give the exact products, the largest too", "[kernel][unpacked_blocks]") {
  using Blocks256 = detail::UnpackedBlocks256<4, false>;
  using Blocks512 = detail::UnpackedBlocks512<4, false>;
  if (!isa::Avx2::available()) SKIP("this machine has no AVX2");
  check_dense_products<Blocks256>(unpacked_products_avx2<Blocks256>);
  if (!isa::Avx512::available()) SKIP("this machine has no AVX-512");
  check_dense_products<Blocks512>(unpacked_products_avx512<Blocks512>);
}

TEMPLATE_TEST_CASE("unpacked balanced blocks give the products of the blocks, the largest too",
                   "[kernel][unpacked_blocks]", (detail::BalancedBlocks<detail::TwoOfFour, 8>),
                   (detail::BalancedBlocks<detail::TwoOfFour, 4>),
                   (detail::BalancedBlocks<detail::EightOfSixteen, 8>)) {
  if (!isa::Avx2::available()) SKIP("this machine has no AVX2");
  using Unpacked = detail::UnpackedBlocks256<TestType::steps, true>;
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
      AlignedBuffer<std::uint8_t> bytes(Unpacked::block_bytes);
      const std::uint8_t* packed = panels.bytes() + block * TestType::block_bytes;
      typename TestType::Cursor cursor{packed};
      Unpacked::write(cursor, block, bytes.data());
      const auto zero = [](auto&, std::size_t) TULLE_TARGET_AVX2 { return _mm256_setzero_si256(); };
      const auto expected = products_avx2(typename TestType::Cursor{packed}, TestType::steps, x, zero);
      CHECK(unpacked_products_avx2<Unpacked>(bytes.data(), x) == expected);
    }
  }
}

#endif
