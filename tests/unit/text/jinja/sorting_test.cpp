// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/sorting.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value row(const char* key, std::int64_t value) {
  return Value::mapping({{Value("k"), Value(key)}, {Value("v"), value}});
}

std::vector<std::int64_t> values(const Items& items) {
  std::vector<std::int64_t> result;
  for (const Value& item : items) result.push_back(follow(budget, item, Value("v")).integer());
  return result;
}

}  // namespace

TEST_CASE("items are sorted by a key, and equal ones stay in order both ways", "[text][jinja_sorting]") {
  const Items rows = {row("b", 1), row("A", 2), row("a", 3), row("B", 4)};
  using Values = std::vector<std::int64_t>;
  CHECK(values(sorted(budget, rows, Value("k"), false, false)) == Values{2, 3, 1, 4});
  CHECK(values(sorted(budget, rows, Value("k"), false, true)) == Values{1, 4, 2, 3});
  CHECK(values(sorted(budget, rows, Value("k"), true, false)) == Values{2, 4, 3, 1});
  CHECK(sorted(budget, {}, None{}, false, false).empty());
}

TEST_CASE("the merge sort sorts every length", "[text][jinja_sorting]") {
  for (int size = 0; size < 40; ++size) {
    std::vector<int> items;
    for (int i = 0; i < size; ++i) items.push_back(i * 7919 % 31);
    merge_sort(items, std::less<>());
    CHECK(std::is_sorted(items.begin(), items.end()));
    CHECK(items.size() == static_cast<std::size_t>(size));
  }
}

TEST_CASE("sorting stays within bounds where there is no order", "[text][jinja_sorting]") {
  Items items;
  for (int i = 0; i < 100; ++i) items.emplace_back(i % 3 == 0 ? std::nan("") : static_cast<double>(i % 7));
  CHECK(sorted(budget, items, None{}, false, false).size() == 100);
  items.emplace_back("a");
  CHECK_THROWS_AS(sorted(budget, items, None{}, false, false), Error);
}
