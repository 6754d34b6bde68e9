// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/well_loop.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using namespace tulle::detail;

namespace {

/// One panel of one span, encoded by hand, times an input of ones: a row's sum.
template <class Isa, class Form>
void check_sums(std::size_t columns, std::size_t zeros_of_100) {
  testing::Numbers numbers(static_cast<std::uint32_t>(columns));
  std::vector<std::int8_t> codes(panel_rows * columns);
  for (std::int8_t& code : codes) {
    if (numbers.below(100) < zeros_of_100) continue;
    code = static_cast<std::int8_t>(Form::nibbles ? static_cast<int>(numbers.below(15)) - 7
                                                  : static_cast<int>(numbers.below(256)) - 128);
  }
  const WellPanel panel = WellEncoder().encode<Form>(codes.data(), columns, columns);
  AlignedBuffer<std::uint8_t> bytes(panel.bytes.size());
  std::copy(panel.bytes.begin(), panel.bytes.end(), bytes.data());
  const std::size_t bundles[] = {0, panel.bytes.size() / Form::bundle_bytes};
  std::vector<std::int32_t> sums(panel_rows);
  for (std::size_t row = 0; row < panel_rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      sums[row] += (Form::nibbles ? 16 : 1) * codes[row * columns + column];
    }
  }
  const std::vector<float> scales(panel_rows, 8127.0f), x(2 * columns, 1.0f);
  WideInput input(2, columns);
  input.start<Isa>(2, columns);
  input.quantize<Isa>({x.data(), 2, columns}, {0, 2});
  std::vector<float> y(2 * panel_rows);
  const WellLoop<Form, Isa> loop{bytes.data(), panel.advances.data(), bundles,
                                 columns,      1,                     sums.data(),
                                 scales.data(), input,                {y.data(), 2, panel_rows}, {0, panel_rows}};
  loop.template run<2>({0}, 0);
  for (std::size_t row = 0; row < panel_rows; ++row) {
    const auto exact = static_cast<double>(sums[row]) * 8127;
    REQUIRE(y[row] == Catch::Approx(exact).epsilon(1e-6).margin(1e-3));
    REQUIRE(y[panel_rows + row] == y[row]);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a panel times ones gives the sums of its rows", "[kernel][well_loop]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const std::size_t columns : {1, 31, 200, 2048}) {
    for (const std::size_t zeros_of_100 : {0, 50, 90}) {
      check_sums<TestType, WellNarrow>(columns, zeros_of_100);
      check_sums<TestType, WellWide>(columns, zeros_of_100);
      check_sums<TestType, WellNibbles>(columns, zeros_of_100);
    }
  }
}

TEST_CASE("the begins of windows are those of every 16 columns", "[kernel][well_loop]") {
  for (std::size_t i = 0; i < 16; ++i) {
    for (const std::uint8_t byte : window_begins.bytes[i]) REQUIRE(byte == 16 * i);
  }
}
