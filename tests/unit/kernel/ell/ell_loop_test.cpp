// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_loop.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using namespace tulle::detail;

namespace {

/// Panels of one span with their zeros of 100, encoded by hand, and two inputs of ones.
template <class Isa, class Form>
struct EncodedPanels {
  EncodedPanels(std::size_t columns, const std::vector<std::size_t>& zeros_of_100, std::size_t window = Form::window)
      : window_(window), columns_(columns), input_(2, columns) {
    testing::Numbers numbers(static_cast<std::uint32_t>(columns));
    for (const std::size_t zeros : zeros_of_100) add(zeros, numbers);
    bytes_ = AlignedBuffer<std::uint8_t>(encoded_.size());
    std::copy(encoded_.begin(), encoded_.end(), bytes_.data());
    scales_.assign(rows(), 8127.0f);
    y_.resize(2 * rows());
    const std::vector<float> x(2 * columns, 1.0f);
    input_.start<Isa>(2, columns);
    input_.quantize<Isa>({x.data(), 2, columns}, {0, 2});
  }

  std::size_t rows() const noexcept { return (bundles_.size() - 1) * panel_rows; }
  EllLoop<Form, Isa> loop() noexcept {
    return {bytes_.data(),  advances_.data(), bundles_.data(),        window_,    columns_, 1, sums_.data(),
            scales_.data(), input_,           {y_.data(), 2, rows()}, {0, rows()}};
  }
  std::int32_t sum(std::size_t row) const noexcept { return sums_[row]; }
  float y(std::size_t input, std::size_t row) const noexcept { return y_[input * rows() + row]; }

 private:
  void add(std::size_t zeros_of_100, testing::Numbers& numbers) {
    std::vector<std::int8_t> codes(panel_rows * columns_);
    for (std::int8_t& code : codes) {
      if (numbers.below(100) < zeros_of_100) continue;
      code = static_cast<std::int8_t>(Form::nibbles ? static_cast<int>(numbers.below(15)) - 7
                                                    : static_cast<int>(numbers.below(256)) - 128);
    }
    const EllPanel panel = EllEncoder().encode<Form>(codes.data(), columns_, columns_, window_);
    encoded_.insert(encoded_.end(), panel.bytes.begin(), panel.bytes.end());
    advances_.insert(advances_.end(), panel.advances.begin(), panel.advances.end());
    bundles_.push_back(encoded_.size() / Form::bundle_bytes);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const auto first = codes.begin() + static_cast<std::ptrdiff_t>(row * columns_);
      sums_.push_back((Form::nibbles ? 16 : 1) *
                      std::accumulate(first, first + static_cast<std::ptrdiff_t>(columns_), 0));
    }
  }

  std::size_t window_, columns_;
  ActivationsI14 input_;
  std::vector<std::uint8_t> encoded_, advances_;
  AlignedBuffer<std::uint8_t> bytes_;
  std::vector<std::size_t> bundles_{0};
  std::vector<std::int32_t> sums_;
  std::vector<float> scales_, y_;
};

/// One panel times an input of ones: a row's sum.
template <class Isa, class Form>
void check_sums(std::size_t columns, std::size_t zeros_of_100) {
  for (const std::size_t window : {short_window, middle_window, Form::window}) {
    EncodedPanels<Isa, Form> panels(columns, {zeros_of_100}, window);
    panels.loop().template run<2>({0}, 0);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const auto exact = static_cast<double>(panels.sum(row)) * 8127;
      REQUIRE(panels.y(0, row) == Catch::Approx(exact).epsilon(1e-6).margin(1e-3));
      REQUIRE(panels.y(1, row) == panels.y(0, row));
    }
  }
}

/// Two panels, one longer than the other, in turns and each by itself.
template <class Isa, class Form>
void check_turns(std::size_t columns) {
  for (const std::size_t window : {short_window, middle_window, Form::window}) {
    EncodedPanels<Isa, Form> panels(columns, {30, 80, 50}, window);
    const auto loop = panels.loop();
    loop.template run<1>({0, 2}, 0);
    loop.template run<1>({1, 0}, 1);
    loop.template run<1>({2}, 1);
    for (const std::size_t panel : {0, 2}) {
      for (std::size_t row = panel * panel_rows; row < (panel + 1) * panel_rows; ++row) {
        REQUIRE(panels.y(0, row) == panels.y(1, row));
        REQUIRE(panels.y(0, row) ==
                Catch::Approx(static_cast<double>(panels.sum(row)) * 8127).epsilon(1e-6).margin(1e-3));
      }
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a panel times ones gives the sums of its rows", "[kernel][ell_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const std::size_t columns : {1, 31, 200, 2048}) {
    for (const std::size_t zeros_of_100 : {0, 50, 90}) {
      check_sums<TestType, EllNarrow>(columns, zeros_of_100);
      check_sums<TestType, EllWide>(columns, zeros_of_100);
      check_sums<TestType, EllNibbles>(columns, zeros_of_100);
    }
  }
}

#if defined(TULLE_X86)
TEMPLATE_TEST_CASE("two panels in turns give the bits of each by itself", "[kernel][ell_loop]", isa::Avx2, isa::AvxVnni,
                   isa::Avx512) {
  testing::require_machine<TestType>();
  for (const std::size_t columns : {1, 200, 2048}) {
    check_turns<TestType, EllNarrow>(columns);
    check_turns<TestType, EllWide>(columns);
    check_turns<TestType, EllNibbles>(columns);
  }
}
#endif

TEST_CASE("the begins of windows are those of every 8 columns", "[kernel][ell_loop]") {
  for (std::size_t i = 0; i < 32; ++i) {
    for (const std::uint8_t byte : window_begins.bytes[i]) REQUIRE(byte == 8 * i);
  }
}
