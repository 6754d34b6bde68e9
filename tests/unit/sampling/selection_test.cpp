// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/selection.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/rng.hpp>

#include "unit/sampling/special_floats.hpp"

using namespace tulle;
using namespace tulle::detail;

TEST_CASE("ordered bits have the order of floats", "[sampling][selection]") {
  const std::vector<float> ascending{-inf, -3e38f, -2, -1, -1e-40f, 0, 1e-40f, 1e-3f, 1, 2, 3e38f, inf};
  for (std::size_t index = 1; index < ascending.size(); ++index) {
    CHECK(ordered_bits(ascending[index - 1]) < ordered_bits(ascending[index]));
  }
  CHECK(ordered_bits(-0.0f) == ordered_bits(0.0f));
  for (const float value : ascending) CHECK(ordered_value(ordered_bits(value)) == value);
}

TEST_CASE("the threshold is the one that sorting and summing finds", "[sampling][selection]") {
  for (std::uint32_t round = 0; round < 30; ++round) {
    const std::size_t count = 1 + 37 * round;
    std::vector<float> values(count);
    for (std::uint32_t index = 0; index < count; ++index) {
      const double random = uniform(5, round, index) * 40 - 20;
      values[index] = static_cast<float>(round % 2 == 0 ? random : std::floor(random));  // odd rounds have ties
    }
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const double needed = 1 + uniform(6, round, 0) * static_cast<double>(count - 1);
    std::size_t last = 0;
    while (static_cast<double>(last + 1) < needed) ++last;

    const Threshold found = find_threshold(
        count, [&](std::size_t index) { return ordered_bits(values[index]); }, [](std::size_t) { return 1.0; },
        [&](double sum, double) { return sum >= needed; });
    CHECK(found.key == ordered_bits(sorted[last]));
    CHECK(found.total_mass == static_cast<double>(count));
    CHECK(found.mass_before ==
          static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), sorted[last]) - sorted.begin()));
  }
}

TEST_CASE("elements without mass are left out and a condition that is never met gives the largest key",
          "[sampling][selection]") {
  const std::vector<float> values{4, 1, 3, 2};
  const std::vector<double> masses{0, 1, 1, 1};
  const auto never = [](double, double) { return false; };
  const auto key = [&](std::size_t index) { return ordered_bits(values[index]); };
  CHECK(find_threshold(4, key, [&](std::size_t index) { return masses[index]; }, never).key == ordered_bits(3));
  CHECK(find_threshold(4, key, [](std::size_t) { return 0.0; }, never).key == 0);
  CHECK(find_threshold(0, key, [](std::size_t) { return 1.0; }, never).key == 0);
}
