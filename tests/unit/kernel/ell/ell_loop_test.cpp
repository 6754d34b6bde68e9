// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_loop.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/ell/ell.hpp>
#include <tulle/kernel/ell/ell_pairs.hpp>
#include <tulle/kernel/ell/ell_unpacked.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using namespace tulle::detail;

namespace {

/// Panels of one span, each with its percentage of zeros, encoded by hand, and two rows of activations that are 1.
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
    return {
        bytes_.data(), advances_.data(), bundles_.data(),        window_,    columns_, 1, sums_.data(), scales_.data(),
        order_,        input_,           {y_.data(), 2, rows()}, {0, rows()}};
  }
  std::int32_t sum(std::size_t row) const noexcept { return sums_[row]; }
  float y(std::size_t input, std::size_t row) const noexcept { return y_[input * rows() + row]; }

 private:
  void add(std::size_t zeros_of_100, testing::Numbers& numbers) {
    std::vector<std::int8_t> codes(panel_rows * columns_);
    for (std::int8_t& code : codes) {
      if (numbers.below(100) < zeros_of_100) continue;
      code = static_cast<std::int8_t>(Form::nibbles ? static_cast<int>(numbers.below(16)) - 8
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
  detail::EllRowOrder order_;
};

/// One panel times ones: the sums of its rows.
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

/// Two panels, one longer than the other, interleaved and each by itself.
template <class Isa, class Form>
void check_interleaved(std::size_t columns) {
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
TEMPLATE_TEST_CASE("two interleaved panels give the bits of each by itself", "[kernel][ell_loop]", isa::Avx2,
                   isa::AvxVnni, isa::Avx512) {
  testing::require_machine<TestType>();
  for (const std::size_t columns : {1, 200, 2048}) {
    check_interleaved<TestType, EllNarrow>(columns);
    check_interleaved<TestType, EllWide>(columns);
    check_interleaved<TestType, EllNibbles>(columns);
  }
}
#endif

TEST_CASE("the begins of windows are those of every 8 columns", "[kernel][ell_loop]") {
  for (std::size_t i = 0; i < 32; ++i) {
    for (const std::uint8_t byte : window_begins.bytes[i]) REQUIRE(byte == 8 * i);
  }
}

#if defined(TULLE_X86)

namespace {

/// The products, in registers of 8 rows or of 16, as [inputs][rows].
template <class Isa>
struct Products {
  static constexpr std::size_t inputs = EllPairs<Isa>::inputs;
  std::int32_t values[inputs][panel_rows];

  TULLE_TARGET_AVX2 void load(isa::Avx2, const EllPairs<Isa>& pairs, std::size_t row) {
    for (std::size_t input = 0; input < inputs; input += 4) {
      for (std::size_t at = 0; at < panel_rows; at += 8) {
        __m256i sums[4];
        pairs.load_sums(row + at, input, sums);
        for (std::size_t i = 0; i < 4; ++i) std::memcpy(values[input + i] + at, &sums[i], sizeof sums[i]);
      }
    }
  }
  TULLE_TARGET_AVX512 void load(isa::Avx512, const EllPairs<Isa>& pairs, std::size_t row) {
    for (std::size_t input = 0; input < inputs; input += 4) {
      __m512i sums[4];
      pairs.load_sums(row, input, sums);
      for (std::size_t i = 0; i < 4; ++i) std::memcpy(values[input + i], &sums[i], sizeof sums[i]);
    }
  }
};

/// Panels of one span, as many as fit at once, and a tile of random or of the largest codes.
template <class Isa, class Form>
void check_products(std::size_t columns, std::size_t zeros_of_100, bool extreme) {
  constexpr std::size_t inputs = EllPairs<Isa>::inputs;
  constexpr std::size_t max_panels = EllPairs<Isa>::max_rows / panel_rows;
  testing::Numbers numbers(static_cast<std::uint32_t>(columns + zeros_of_100));
  std::vector<std::int8_t> codes(max_panels * panel_rows * columns);
  const int least = Form::nibbles ? -7 : -128, range = Form::nibbles ? 15 : 256;
  for (std::int8_t& code : codes) {
    if (numbers.below(100) < zeros_of_100) continue;
    code = static_cast<std::int8_t>(extreme ? least
                                            : least + static_cast<int>(numbers.below(static_cast<std::size_t>(range))));
  }
  std::fill_n(codes.data() + 5 * columns, columns, std::int8_t{0});  // a row of another length
  AlignedBuffer<std::int16_t> x(columns * inputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int16_t>(extreme ? -8127 : static_cast<int>(numbers.below(16255)) - 8127);
  }
  std::vector<EllPanel> panels;
  std::size_t max_bundles = 0;
  for (std::size_t panel = 0; panel < max_panels; ++panel) {
    panels.push_back(
        EllEncoder().encode<Form>(codes.data() + panel * panel_rows * columns, columns, columns, Form::window));
    max_bundles = std::max(max_bundles, panels[panel].bytes.size() / Form::bundle_bytes);
  }
  const auto pairs = std::make_unique<EllPairs<Isa>>(max_bundles * Form::steps);
  const std::size_t rows = pairs->rows_at_once();
  REQUIRE((rows >= 8 && rows % 8 == 0 && rows <= max_panels * panel_rows));
  for (std::size_t row = 0; row < rows; row += 8) {
    const EllPanel& panel = panels[row / panel_rows];
    const EllPiece piece{panel.bytes.data(), panel.advances.data(), panel.bytes.size() / Form::bundle_bytes};
    pairs->template read<Form>(piece, row % panel_rows, row);
  }
  pairs->end_lists(rows);
  pairs->multiply(rows, x.data());
  for (std::size_t first = 0; first < rows; first += panel_rows) {
    Products<Isa> products;
    products.load(Isa{}, *pairs, first);
    for (std::size_t row = first; row < std::min(first + panel_rows, rows); ++row) {
      for (std::size_t i = 0; i < inputs; ++i) {
        std::int64_t expected = 0;
        for (std::size_t column = 0; column < columns; ++column) {
          const int code = codes[row * columns + column] * (Form::nibbles ? 16 : 1);
          expected += std::int64_t{code} * x[column * inputs + i];
        }
        REQUIRE(products.values[i][row - first] == expected);
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("lists of weights give the exact products with a tile", "[kernel][ell_loop]", isa::Avx2,
                   isa::Avx512) {
  testing::require_machine<TestType>();
  for (const std::size_t columns : {1, 31, 200, 2048}) {
    for (const std::size_t zeros_of_100 : {0, 50, 90, 100}) {
      for (const bool extreme : {false, true}) {
        check_products<TestType, EllNarrow>(columns, zeros_of_100, extreme);
        check_products<TestType, EllWide>(columns, zeros_of_100, extreme);
        check_products<TestType, EllNibbles>(columns, zeros_of_100, extreme);
      }
    }
  }
}

#endif

#if defined(TULLE_X86)

namespace {

/// y of `inputs` rows of activations, `at_once` of them in one product.
template <class Kernel>
std::vector<float> products(const testing::EncodedMatrix& matrix, std::size_t inputs, std::size_t at_once) {
  const std::size_t rows = matrix.rows.rows(), columns = matrix.rows.columns();
  const auto weights = Kernel::pack(matrix.rows);
  const auto x = testing::random_floats(inputs * columns, 3);
  std::vector<float> y(inputs * rows);
  typename Kernel::Input input(at_once, columns);
  for (std::size_t first = 0; first < inputs; first += at_once) {
    Kernel::start(weights, at_once, input);
    Kernel::prepare(weights, {x.data() + first * columns, at_once, columns}, input, {0, at_once});
    Kernel::multiply(weights, input, {y.data() + first * rows, at_once, rows}, {0, rows});
  }
  return y;
}

}  // namespace

TEMPLATE_TEST_CASE("weights unpacked for a batch give the bits of those that are not", "[kernel][ell_loop]",
                   BasicEllI8<isa::Avx512>, BasicEllI4<isa::Avx512>) {
  testing::require_machine<isa::Avx512>();
  // 18 panels and a part, of one span; then of two, with more steps than fit, so that some panels are not unpacked.
  for (const auto& [rows, columns, kept] : {std::array<std::size_t, 3>{300, 200, 3}, {100, 4000, 8}}) {
    const auto matrix = testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), {kept, 16}, 7);
    const auto expected = products<TestType>(matrix, 18, 1);
    CHECK(products<TestType>(matrix, 18, 18) == expected);
    CHECK(products<TestType>(matrix, 18, 9) == expected);
  }
}

TEST_CASE("panels are unpacked as far as they fit", "[kernel][ell_loop]") {
  testing::require_machine<isa::Avx512>();
  constexpr std::size_t steps_of_panel = 300, panels = 10;
  std::vector<std::size_t> bundles;
  for (std::size_t piece = 0; piece <= panels; ++piece)
    bundles.push_back(piece * steps_of_panel / detail::EllWide::steps);
  AlignedBuffer<std::uint8_t> bytes(bundles.back() * detail::EllWide::bundle_bytes);
  const std::vector<std::uint8_t> advances(bundles.back() * detail::EllWide::steps);
  const ActivationsI14 input(16, 64);
  const detail::EllRowOrder order;
  const detail::EllLoop<detail::EllWide, isa::Avx512> loop{
      bytes.data(), advances.data(), bundles.data(), 64,    64, 1,
      nullptr,      nullptr,         order,          input, {}, {0, panels * panel_rows}};
  detail::UnpackedEll<detail::EllWide> unpacked(loop);
  unpacked.unpack(2, panels);
  CHECK(!unpacked.holds(1));
  CHECK(unpacked.holds(2));
  CHECK(unpacked.holds(7));  // 6 * 300 steps
  CHECK(!unpacked.holds(8));
  unpacked.unpack(8, panels);
  CHECK((!unpacked.holds(7) && unpacked.holds(8) && unpacked.holds(9) && !unpacked.holds(panels)));
}

#endif
