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
}
