// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/element.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <tulle/core/rng.hpp>

#include <catch2/catch_all.hpp>

#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Encoded {
  float scale;
  std::vector<int> elements;
};

/// On every set, which must give the same.
Encoded encode(const std::vector<float>& row) {
  Encoded first;
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    std::vector<std::int8_t> elements(row.size(), 99);
    const float scale = encode_row(row.data(), row.size(), elements.data());
    const Encoded encoded{scale, {elements.begin(), elements.end()}};
    if (first.elements.empty()) first = encoded;
    CHECK((encoded.scale == first.scale || (std::isnan(encoded.scale) && std::isnan(first.scale))));
    CHECK(encoded.elements == first.elements);
  }
  return first;
}

}  // namespace

TEST_CASE("float rows are stored as they are, with every bit", "[cache][element]") {
  const std::array<float, 4> row = {1.5f, -0.0f, infinity, std::numeric_limits<float>::denorm_min()};
  std::array<float, 4> stored = {};
  CHECK(encode_row(row.data(), row.size(), stored.data()) == 1);
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(std::bit_cast<std::uint32_t>(stored[i]) == std::bit_cast<std::uint32_t>(row[i]));
  }
}

TEST_CASE("half rows are rounded to nearest even and overflow to infinity", "[cache][element]") {
  const std::array<float, 5> row = {1.0f, 2049.0f, 2051.0f, 1e6f, -std::numeric_limits<float>::quiet_NaN()};
  std::array<Half, 5> stored = {};
  CHECK(encode_row(row.data(), row.size(), stored.data()) == 1);
  CHECK(to_float(stored[0]) == 1.0f);
  CHECK(to_float(stored[1]) == 2048.0f);
  CHECK(to_float(stored[2]) == 2052.0f);
  CHECK(to_float(stored[3]) == infinity);
  CHECK(std::isnan(to_float(stored[4])));
}

TEST_CASE("int8 rows have the scale of their largest number and round half to even", "[cache][element]") {
  const Encoded encoded = encode({127.0f, -127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.51f, -0.0f});
  CHECK(encoded.scale == 1);
  CHECK(encoded.elements == std::vector<int>{127, -127, 0, 2, 2, 0, -2, -2, 1, 0});
  CHECK(encode({-2.0f, 1.0f}).scale == 2.0f / 127.0f);
  CHECK(encode({-2.0f, 1.0f}).elements == std::vector<int>{-127, 64});  // 63.5 is between; even is up
}

TEST_CASE("int8 elements are the nearest multiples of the scale for any length of row", "[cache][element]") {
  for (std::size_t count = 1; count < 70; ++count) {
    std::vector<float> row(count);
    for (std::size_t i = 0; i < count; ++i) {
      row[i] = static_cast<float>(
          std::ldexp(uniform(7, count, static_cast<std::uint32_t>(i)) - 0.5, static_cast<int>(count) - 35));
    }
    const Encoded encoded = encode(row);
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(encoded.elements[i] == static_cast<int>(std::nearbyint(row[i] / encoded.scale)));
      REQUIRE(std::abs(static_cast<float>(encoded.elements[i]) * encoded.scale - row[i]) <= encoded.scale * 0.501f);
    }
  }
}

TEST_CASE("an int8 row of zeros has scale 0", "[cache][element]") {
  const Encoded encoded = encode({0.0f, -0.0f, 0.0f});
  CHECK(encoded.scale == 0);
  CHECK(encoded.elements == std::vector<int>{0, 0, 0});
}

TEST_CASE("int8 rows of subnormal numbers keep within -127 and 127", "[cache][element]") {
  const float least = std::numeric_limits<float>::denorm_min();
  CHECK(encode({least, -least}).elements == std::vector<int>{0, 0});  // the scale itself rounds to 0
  for (int units = 1; units < 1000; ++units) {
    const float x = least * static_cast<float>(units);
    const Encoded encoded = encode({x, -x});
    REQUIRE(encoded.elements[0] == -encoded.elements[1]);
    REQUIRE(encoded.elements[0] >= 0);
    REQUIRE(encoded.elements[0] <= 127);
    REQUIRE((encoded.scale == 0) == (encoded.elements[0] == 0));
  }
}

TEST_CASE("an int8 row with an infinity or a NaN reads back as NaN", "[cache][element]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float odd : {infinity, -infinity, nan, -nan}) {
    const Encoded encoded = encode({1.0f, odd, -2.0f});
    CHECK(std::isnan(encoded.scale));
    CHECK(encoded.elements == std::vector<int>{0, 0, 0});
  }
  const float largest = std::numeric_limits<float>::max();
  CHECK(encode({largest, -largest}).elements == std::vector<int>{127, -127});
}
