// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/heap_sort.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace tulle;

TEST_CASE("a vector is sorted as std::sort does it", "[core][heap_sort]") {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 200; ++size) {
    std::vector<unsigned> values(size);
    for (unsigned& value : values) value = static_cast<unsigned>(random() % 50);
    std::vector<unsigned> expected = values, descending = values;
    std::sort(expected.begin(), expected.end());
    heap_sort(values);
    heap_sort(descending, std::greater<>());
    CHECK(values == expected);
    CHECK(std::equal(descending.rbegin(), descending.rend(), expected.begin(), expected.end()));
  }
}

TEST_CASE("what can only be moved is sorted", "[core][heap_sort]") {
  std::vector<std::unique_ptr<int>> values;
  for (const int value : {3, 1, 2}) values.push_back(std::make_unique<int>(value));
  heap_sort(values, [](const auto& a, const auto& b) { return *a < *b; });
  CHECK((*values[0] == 1 && *values[1] == 2 && *values[2] == 3));
}
