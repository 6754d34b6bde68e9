// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/schedule/work_partition.hpp>

#include <cstddef>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

struct Even {
  std::size_t rows() const noexcept { return 100; }
};
struct Uneven : Even {
  RowRange share(std::size_t inputs, std::size_t worker, std::size_t) const noexcept { return {inputs, worker}; }
};
struct Shuffled : Even {
  bool is_in_order() const noexcept { return false; }
};

}  // namespace

TEST_CASE("shares by cost cover all rows in whole panels, and none costs a panel more than its part",
          "[kernel][row_share]") {
  testing::Numbers numbers(1);
  for (const std::size_t rows : {1, 16, 17, 200, 1000}) {
    for (const std::size_t workers : {1, 2, 3, 7, 100}) {
      for (const std::size_t most : {1, 2, 50}) {  // 1: every panel costs nothing
        const std::size_t panels = (rows + panel_rows - 1) / panel_rows;
        std::vector<std::size_t> before{0};
        for (std::size_t panel = 0; panel < panels; ++panel) before.push_back(before.back() + numbers.below(most));
        std::size_t next = 0;
        for (std::size_t worker = 0; worker < workers; ++worker) {
          const RowRange share = share_by_cost(rows, worker, workers, [&](std::size_t panel) { return before[panel]; });
          REQUIRE(share.begin == next);
          REQUIRE(share.end >= share.begin);
          REQUIRE((share.begin % panel_rows == 0 || share.begin == rows));
          const std::size_t cost =
              before[(share.end + panel_rows - 1) / panel_rows] - before[(share.begin + panel_rows - 1) / panel_rows];
          REQUIRE(cost <= before.back() / workers + most + 1);
          next = share.end;
        }
        REQUIRE(next == rows);
      }
    }
  }
}

TEST_CASE("weights that do not say how are shared by rows", "[kernel][row_share]") {
  CHECK(row_share(Even(), 1, 0, 2).end == 48);
  CHECK(row_share(Even(), 1, 1, 2).begin == 48);
  CHECK(row_share(Uneven(), 5, 9, 10).begin == 5);
  CHECK(row_share(Uneven(), 5, 9, 10).end == 9);
}

TEST_CASE("weights that do not say otherwise have their rows in order", "[kernel][row_share]") {
  CHECK(is_in_order(Even()));
  CHECK(is_in_order(Shuffled()) == is_web);
}
