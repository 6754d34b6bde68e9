// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_row_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::EllRowOrder;

TEST_CASE("of each 128 rows the longest come first, and rows of one length stay in order", "[kernel][ell_row_order]") {
  std::vector<std::uint32_t> nonzeros(150);
  for (std::size_t row = 0; row < nonzeros.size(); ++row) nonzeros[row] = row % 3 == 0 ? 100 : 10;
  const EllRowOrder order(nonzeros, 200, 160);
  REQUIRE(order.is_that_of_matrix() != EllRowOrder::moves_rows);
  if (!EllRowOrder::moves_rows) SKIP("rows stay where they are in this build");
  CHECK(order.is_sound(160));
  CHECK_FALSE(order.is_sound(176));
  CHECK(order.row_at(0) == 0);
  CHECK(order.row_at(1) == 3);
  CHECK(order.row_at(42) == 126);
  CHECK(order.row_at(43) == 1);
  CHECK(order.row_at(127) == 127);
  CHECK(order.row_at(128) == 129);
  for (std::size_t place = 0; place < 160; ++place) {
    CHECK(order.place_of(order.row_at(place)) == place);
    CHECK(order.row_at(place) / 128 == place / 128);
    if (place >= 150) CHECK(order.row_at(place) == place);
  }
  const RowRange around = order.places_around({16, 144});
  CHECK(around.begin == 0);
  CHECK(around.end == 160);
}

TEST_CASE("rows whose lengths differ as those of random rows do keep the order of the matrix",
          "[kernel][ell_row_order]") {
  const auto is_that_of_matrix = [](const std::vector<std::uint32_t>& nonzeros) {
    return EllRowOrder(nonzeros, 500, round_up(nonzeros.size(), std::size_t{16})).is_that_of_matrix();
  };
  testing::Numbers numbers(1);
  std::vector<std::uint32_t> nonzeros(640);
  for (std::uint32_t& length : nonzeros) {
    for (std::size_t column = 0; column < 500; ++column) length += numbers.below(5) == 0 ? 1 : 0;
  }
  CHECK(is_that_of_matrix(nonzeros));
  for (std::size_t row = 0; row < nonzeros.size(); row += 2) nonzeros[row] += 40;
  CHECK(is_that_of_matrix(nonzeros) != EllRowOrder::moves_rows);
  std::stable_sort(nonzeros.begin(), nonzeros.end());
  CHECK(is_that_of_matrix(nonzeros));  // long rows lie together already
  CHECK(is_that_of_matrix({}));
  CHECK(is_that_of_matrix(std::vector<std::uint32_t>(20)));  // nothing but zeros
  const EllRowOrder none;
  CHECK(none.row_at(17) == 17);
  CHECK(none.place_of(17) == 17);
  CHECK(none.places_around({16, 32}).end == 32);
  CHECK(none.is_sound(640));
}
