// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/half.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <limits>

using namespace tulle;

TEST_CASE("every binary16 value survives the way through float", "[core][half]") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(to_float(to_half(value))));
    } else {
      REQUIRE(to_half(value).bits == half.bits);
    }
  }
}

TEST_CASE("to_half rounds to nearest, ties to even", "[core][half]") {
  CHECK(to_half(1.0f).bits == 0x3C00);
  CHECK(to_half(1.0f + 0x1p-11f).bits == 0x3C00);      // tie, even below
  CHECK(to_half(1.0f + 3 * 0x1p-11f).bits == 0x3C02);  // tie, even above
  CHECK(to_half(1.0f + 0x1p-11f + 0x1p-20f).bits == 0x3C01);
  CHECK(to_half(65504.0f).bits == 0x7BFF);
  CHECK(to_half(65519.0f).bits == 0x7BFF);
  CHECK(to_half(65520.0f).bits == 0x7C00);
  CHECK(to_half(0x1p-24f).bits == 1);
  CHECK(to_half(0x1p-25f).bits == 0);  // tie, even is zero
  CHECK(to_half(3 * 0x1p-25f).bits == 2);
  CHECK(to_half(-0.0f).bits == 0x8000);
  CHECK(to_half(std::numeric_limits<float>::infinity()).bits == 0x7C00);
  CHECK(std::isnan(to_float(to_half(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("to_bfloat16 rounds to nearest, ties to even", "[core][half]") {
  CHECK(to_bfloat16(1.0f).bits == 0x3F80);
  CHECK(to_bfloat16(1.0f + 0x1p-8f).bits == 0x3F80);
  CHECK(to_bfloat16(1.0f + 3 * 0x1p-8f).bits == 0x3F82);
  CHECK(to_float(to_bfloat16(-3.0f)) == -3.0f);
  CHECK(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}
