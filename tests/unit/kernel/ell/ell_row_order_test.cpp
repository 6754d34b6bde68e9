// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_row_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;
using detail::is_row_order;
using detail::longest_first;

TEST_CASE("of each 256 rows the longest come first, and as long ones stay in order", "[kernel][ell_row_order]") {
  std::vector<std::uint32_t> nonzeros(300);
  for (std::size_t row = 0; row < nonzeros.size(); ++row) nonzeros[row] = row % 3 == 0 ? 100 : 10;
  const std::vector<std::uint32_t> order = longest_first(nonzeros);
  REQUIRE(is_row_order(order, nonzeros.size()));
  CHECK(order[0] == 0);
  CHECK(order[1] == 3);
  CHECK(order[85] == 255);
  CHECK(order[86] == 1);
  CHECK(order[255] == 254);
  CHECK(order[256] == 258);
  CHECK(std::all_of(order.begin() + 256, order.end(), [](std::uint32_t row) { return row >= 256; }));
}

TEST_CASE("rows of about one length keep the order of the matrix", "[kernel][ell_row_order]") {
  std::vector<std::uint32_t> nonzeros(64);
  for (std::size_t row = 0; row < nonzeros.size(); ++row) nonzeros[row] = 100 + row % 16;
  CHECK(longest_first(nonzeros).empty());
  CHECK(longest_first({}).empty());
  CHECK(longest_first(std::vector<std::uint32_t>(20)).empty());  // nothing but zeros
}

TEST_CASE("an order names every row once", "[kernel][ell_row_order]") {
  const auto is_order = [](std::vector<std::uint32_t> order) { return is_row_order(order, 3); };
  CHECK(is_order({}));
  CHECK(is_order({2, 0, 1}));
  CHECK_FALSE(is_order({0, 1}));
  CHECK_FALSE(is_order({0, 1, 1}));
  CHECK_FALSE(is_order({0, 1, 3}));
}
