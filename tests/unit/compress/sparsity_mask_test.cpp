// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/sparsity_mask.hpp>

#include <algorithm>
#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace tulle;

namespace {

std::vector<std::uint8_t> select(const std::vector<float>& values, std::size_t columns, std::vector<std::size_t> parts,
                                 const SparsityStructure& structure, double sparsity) {
  ThreadPool pool(2);
  std::vector<std::uint8_t> mask(values.size());
  select_largest<float>({values.data(), values.size() / columns, columns}, parts, structure, sparsity, pool,
                        {mask.data(), values.size() / columns, columns});
  return mask;
}

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace

TEST_CASE("The largest of a matrix stay, of equal ones the first, and each stacked matrix has its own share") {
  const std::vector<float> values{1, -3, 2, 2, -2, 0, 10, 20, 30, 5, 40, 50};
  CHECK(select(values, 3, {4}, {}, 0.5) == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(select(values, 3, {2, 2}, {}, 0.5) == std::vector<std::uint8_t>{0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
}

TEST_CASE("A large matrix, whose threshold is found by its upper bits, keeps what sorting keeps") {
  std::vector<float> values = random_values(300 * 400);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = std::round(values[i] * 4) / 4;  // many equal ones
  for (const double sparsity : {0.0, 0.3, 0.5, 0.999, 1.0}) {
    const auto mask = select(values, 400, {300}, {}, sparsity);
    std::vector<std::size_t> order(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
    const auto keep = static_cast<std::size_t>(std::llround((1 - sparsity) * static_cast<double>(order.size())));
    std::vector<std::uint8_t> expected(values.size());
    for (std::size_t i = 0; i < keep; ++i) expected[order[i]] = 1;
    CHECK(mask == expected);
  }
}

TEST_CASE("Groups of every size keep what sorting keeps, of equal ones the first") {
  const auto [keep, of] = GENERATE(table<std::size_t, std::size_t>(
      {{1, 4}, {2, 4}, {4, 4}, {3, 6}, {4, 8}, {4, 16}, {8, 16}, {15, 16}, {16, 32}, {10, 40}, {32, 64}}));
  CAPTURE(keep, of);
  std::vector<float> values = random_values(of * 500);
  for (std::size_t i = 0; i < values.size() / 2; ++i) values[i] = std::round(values[i] * 2) / 2;  // many equal ones
  std::vector<std::uint8_t> expected(values.size());
  for (std::size_t begin = 0; begin < values.size(); begin += of) {
    std::vector<std::size_t> order(of);
    for (std::size_t i = 0; i < of; ++i) order[i] = begin + i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
    for (std::size_t i = 0; i < keep; ++i) expected[order[i]] = 1;
  }
  CHECK(select(values, of * 5, {100}, {SparsityStructure::Kind::balanced, keep, of}, 0) == expected);
}

TEST_CASE("Rows and groups keep their own largest") {
  const std::vector<float> values{4, -3, 2, 1, 1, 1, 9, 8};
  using Kind = SparsityStructure::Kind;
  CHECK(select(values, 4, {2}, {.kind = Kind::row}, 0.5) == std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0, 1, 1});
  CHECK(select(values, 8, {1}, {Kind::balanced, 2, 4}, 0) == std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0, 1, 1});
  CHECK(select(values, 8, {1}, {Kind::balanced, 1, 2}, 0) == std::vector<std::uint8_t>{1, 0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("8:16 with gaps of at most 4 finds the best of its 8938 masks") {
  std::vector<unsigned> masks;
  for (unsigned mask = 0; mask < 65536; ++mask) {
    std::size_t count = 0;
    int last = -1;
    bool fits = true;
    for (int i = 0; i < 16; ++i) {
      if ((mask >> i & 1) == 0) continue;
      fits = fits && i - last <= 4;
      last = i;
      ++count;
    }
    if (fits && count == 8) masks.push_back(mask);
  }
  REQUIRE(masks.size() == 8938);
  const std::vector<float> values = random_values(16 * 20);
  const auto mask = select(values, 16, {20}, {SparsityStructure::Kind::balanced, 8, 16, 4}, 0);
  for (std::size_t row = 0; row < 20; ++row) {
    const auto sum_of = [&](auto&& keeps) {
      double sum = 0;
      for (std::size_t i = 0; i < 16; ++i)
        sum += keeps(i) ? double{values[row * 16 + i]} * double{values[row * 16 + i]} : 0;
      return sum;
    };
    double best = 0;
    for (const unsigned each : masks)
      best = std::max(best, sum_of([&](std::size_t i) { return (each >> i & 1) != 0; }));
    unsigned found = 0;
    for (unsigned i = 0; i < 16; ++i) found |= static_cast<unsigned>(mask[row * 16 + i]) << i;
    CHECK(std::find(masks.begin(), masks.end(), found) != masks.end());
    CHECK(sum_of([&](std::size_t i) { return mask[row * 16 + i] != 0; }) == Catch::Approx(best));
  }
}

TEST_CASE("A structure that does not fit the columns is refused") {
  using Kind = SparsityStructure::Kind;
  CHECK_NOTHROW(check_structure({Kind::balanced, 8, 16}, 64));
  CHECK_THROWS_WITH(check_structure({Kind::balanced, 8, 16}, 40),
                    Catch::Matchers::ContainsSubstring("no whole number"));
  CHECK_THROWS_WITH(check_structure({Kind::balanced, 5, 4}, 64), Catch::Matchers::ContainsSubstring("not possible"));
  CHECK_THROWS_WITH(check_structure({Kind::balanced, 50, 128}, 128),
                    Catch::Matchers::ContainsSubstring("not possible"));
}
