// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_unpacked.hpp>

#include <array>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/ell/ell.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

#if defined(TULLE_X86)

namespace {

/// y of `inputs` inputs, `at_once` of them in one product.
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

TEMPLATE_TEST_CASE("weights made ready for many inputs give the bits of those that are not", "[kernel][ell_ready]",
                   BasicEllI8<isa::Avx512>, BasicEllI4<isa::Avx512>) {
  testing::require_machine<isa::Avx512>();
  // 18 panels and a part, of one span; then of two, with more steps than fit, so that some panels of a block are not
  // ready.
  for (const auto& [rows, columns, kept] : {std::array<std::size_t, 3>{300, 200, 3}, {100, 4000, 8}}) {
    const auto matrix = testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), {kept, 16}, 7);
    const auto expected = products<TestType>(matrix, 18, 1);
    CHECK(products<TestType>(matrix, 18, 18) == expected);
    CHECK(products<TestType>(matrix, 18, 9) == expected);
  }
}

TEST_CASE("a block of panels is ready as far as it fits", "[kernel][ell_ready]") {
  testing::require_machine<isa::Avx512>();
  constexpr std::size_t steps_of_panel = 300, panels = 10;
  std::vector<std::size_t> bundles;
  for (std::size_t piece = 0; piece <= panels; ++piece)
    bundles.push_back(piece * steps_of_panel / detail::EllWide::steps);
  AlignedBuffer<std::uint8_t> bytes(bundles.back() * detail::EllWide::bundle_bytes);
  const std::vector<std::uint8_t> advances(bundles.back() * detail::EllWide::steps);
  const ActivationsI14 input(16, 64);
  const detail::EllLoop<detail::EllWide, isa::Avx512> loop{
      bytes.data(), advances.data(), bundles.data(), 64, 64, 1, nullptr, nullptr, input, {}, {0, panels * panel_rows}};
  detail::UnpackedEll<detail::EllWide> ready(loop);
  ready.make(2, panels);
  CHECK(!ready.holds(1));
  CHECK(ready.holds(2));
  CHECK(ready.holds(7));  // 6 * 300 steps
  CHECK(!ready.holds(8));
  ready.make(8, panels);
  CHECK((!ready.holds(7) && ready.holds(8) && ready.holds(9) && !ready.holds(panels)));
}

#endif
