// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/row_blocks.hpp>

#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/sampling/odd_rows.hpp"

using namespace tulle;
using namespace tulle::detail;

namespace {

constexpr auto above_one = [](auto logit) { return logit > decltype(logit)(1.0f); };

}  // namespace

TEST_CASE("what lies behind a row's end is banned", "[sampling][row_blocks]") {
  const std::vector<float> row = random_row(70, 1);
  const RowBlock<> full(row, 0), last(row, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(full[i] == row[i]);
    CHECK(last[i] == (i < 6 ? row[64 + i] : banned));
  }
  CHECK(last.mask([](auto logit) { return logit > decltype(logit)(banned); }) == 0b111111);
}

TEST_CASE("bits are visited from the lowest to the highest", "[sampling][row_blocks]") {
  std::vector<std::size_t> visited;
  for_each_bit(0x8000'0000'0001'0401, [&](std::size_t index) { visited.push_back(index); });
  CHECK(visited == std::vector<std::size_t>{0, 10, 16, 63});
  for_each_bit(0, [&](std::size_t) { FAIL("no bit is set"); });
}

TEST_CASE("a few logits are copied in order, too many stay where they are", "[sampling][row_blocks]") {
  for (const OddRow& row : odd_rows()) {
    INFO(row.name);
    std::vector<float> expected;
    for (const float logit : row.logits) {
      if (logit > 1) expected.push_back(logit);
    }
    std::vector<float> room(expected.size());
    const auto few = copy_few(row.logits, room, above_one);
    CHECK(std::vector<float>(few.begin(), few.end()) == expected);
    if (expected.empty()) continue;
    CHECK(few.data() == room.data());
    room.pop_back();
    CHECK(copy_few(row.logits, room, above_one).data() == row.logits.data());
  }
}
