// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/plain.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

TEST_CASE("plain elements decode exactly", "[format][encoding]") {
  CHECK(decoded_row(f32_rows, "0000c03f000020c1", 2) == std::vector<float>{1.5f, -10});
  CHECK(decoded_row(f16_rows, "003e00c90100", 3) == std::vector<float>{1.5f, -10, 0x1p-24f});
  CHECK(decoded_row(bf16_rows, "c03f20c1", 2) == std::vector<float>{1.5f, -10});
  CHECK(decoded_row(i16_rows, "0080ff7f", 2) == std::vector<float>{-32768, 32767});
  CHECK(decoded_row(i32_rows, "f6ffffff00000001", 2) == std::vector<float>{-10, 0x1p24f});
  CHECK(decoded_row(i64_rows, "f6ffffffffffffff", 1) == std::vector<float>{-10});
  CHECK(decoded_row(f64_rows, "000000000000f83f00000000000024c0", 2) == std::vector<float>{1.5f, -10});
}

TEST_CASE("elements with more bits than a float are rounded to the nearest", "[format][encoding]") {
  CHECK(decoded_row(f64_rows, "9a9999999999b93f", 1) == std::vector<float>{0.1f});
  CHECK(decoded_row(i32_rows, "01000001ffffff7f", 2) == std::vector<float>{0x1p24f, 0x1p31f});
  CHECK(decoded_row(i64_rows, "0000000000000080", 1) == std::vector<float>{-0x1p63f});
}
