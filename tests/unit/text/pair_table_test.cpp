// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/pair_table.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("every inserted pair is found, and no other", "[text][pair_table]") {
  PairTable table(40000);
  for (Token left = 0; left < 200; ++left) {
    for (Token right = 0; right < 200; ++right)
      table.insert(left, right, {static_cast<std::uint32_t>(left * 200 + right), left + right});
  }
  std::size_t wrong = 0;
  for (Token left = 0; left < 220; ++left) {
    for (Token right = 0; right < 220; ++right) {
      const PairTable::Entry* entry = table.find(left, right);
      const bool is_in = left < 200 && right < 200;
      wrong += (entry != nullptr) != is_in;
      if (entry != nullptr)
        wrong += entry->rank != static_cast<std::uint32_t>(left * 200 + right) || entry->merged != left + right;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("an empty table finds nothing and a later insert replaces", "[text][pair_table]") {
  PairTable table(0);
  CHECK(table.find(0, 0) == nullptr);
  PairTable one(2);
  one.insert(1, 2, {5, 6});
  one.insert(1, 2, {7, 8});
  REQUIRE(one.find(1, 2) != nullptr);
  CHECK(one.find(1, 2)->rank == 7);
  CHECK(one.find(2, 1) == nullptr);
}
