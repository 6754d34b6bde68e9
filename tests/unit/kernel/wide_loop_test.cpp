// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/wide_loop.hpp>

#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

#if defined(TULLE_X86)
namespace {

template <std::size_t Inputs>
void check_dots(std::size_t columns, bool extreme) {
  constexpr std::size_t stride = 2048 + 6;
  testing::Numbers numbers(static_cast<std::uint32_t>(columns + Inputs));
  AlignedBuffer<std::int16_t> weights(columns * panel_rows);
  std::vector<std::int16_t> x(Inputs * stride);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<std::int16_t>(extreme ? -128 : static_cast<int>(numbers.below(256)) - 128);
  }
  for (auto& code : x) code = static_cast<std::int16_t>(extreme ? -8127 : static_cast<int>(numbers.below(16255)) - 8127);
  alignas(64) std::int32_t dots[Inputs][panel_rows];
  detail::wide_dots<Inputs>(isa::Avx2{}, weights.data(), columns, x.data(), stride, dots);
  for (std::size_t lane = 0; lane < Inputs; ++lane) {
    for (std::size_t row = 0; row < panel_rows; ++row) {
      std::int64_t expected = 0;
      for (std::size_t column = 0; column < columns; ++column) {
        expected += std::int64_t{weights[(column / 2 * panel_rows + row) * 2 + column % 2]} * x[lane * stride + column];
      }
      REQUIRE(dots[lane][row] == expected);
    }
  }
}

}  // namespace

TEST_CASE("dot products of int16 are exact, up to 2048 columns of the largest codes", "[kernel][wide_loop]") {
  testing::require_machine<isa::Avx2>();
  for (const std::size_t columns : {2, 16, 30, 2048}) {
    for (const bool extreme : {false, true}) {
      check_dots<1>(columns, extreme);
      check_dots<8>(columns, extreme);
    }
  }
}
#endif
