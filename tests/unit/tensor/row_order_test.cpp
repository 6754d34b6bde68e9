// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/row_order.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

using namespace tulle;

namespace {

std::vector<std::size_t> listed(const RowOrder& order) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < order.rows(); ++row) rows.push_back(order[row]);
  return rows;
}

}  // namespace

TEST_CASE("the order by default stands for all rows as they lie", "[tensor][row_order]") {
  CHECK(RowOrder().as_it_lies());
  CHECK(RowOrder().rows() == 0);
  CHECK(RowOrder().end() == 0);
}

TEST_CASE("an order is three nested loops", "[tensor][row_order]") {
  const RowOrder order{5, {{{2, 100}, {3, 10}, {2, 1}}}};
  CHECK_FALSE(order.as_it_lies());
  CHECK(listed(order) == std::vector<std::size_t>{5, 6, 15, 16, 25, 26, 105, 106, 115, 116, 125, 126});
  CHECK(order.end() == 127);
}

TEST_CASE("halves of adjacent pairs: the even rows of a head, then the odd ones", "[tensor][row_order]") {
  CHECK(listed(RowOrder::halves_of_pairs(2, 6)) == std::vector<std::size_t>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
  CHECK(RowOrder::halves_of_pairs(2, 6).end() == 12);
}

TEST_CASE("rows of blocks", "[tensor][row_order]") {
  CHECK(listed(RowOrder::of_blocks(2, 9, 3, 3)) == std::vector<std::size_t>{3, 4, 5, 12, 13, 14});
  CHECK(RowOrder::of_blocks(2, 9, 6, 3).end() == 18);
}

TEST_CASE("blocks of rows that lie stacked: queries, keys and values of each", "[tensor][row_order]") {
  const RowOrder order = RowOrder::blocks_of_stacked(2, 3, 1);
  CHECK(listed(order) == std::vector<std::size_t>{0, 1, 2, 6, 8, 3, 4, 5, 7, 9});
  CHECK(order.end() == 10);
  const RowOrder equal = RowOrder::blocks_of_stacked(2, 2, 2);
  CHECK(listed(equal) == std::vector<std::size_t>{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11});
  CHECK(equal.end() == 12);
  CHECK(listed(RowOrder::blocks_of_stacked(1, 2, 1)) == std::vector<std::size_t>{0, 1, 2, 3});
}
