// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/blocks_of_32.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

TEST_CASE("random blocks of 32 decode to the bits of the reference", "[format][encoding]") {
  testing::check_golden_blocks(q4_0_rows, "q4_0");
  testing::check_golden_blocks(q4_1_rows, "q4_1");
  testing::check_golden_blocks(q5_0_rows, "q5_0");
  testing::check_golden_blocks(q5_1_rows, "q5_1");
  testing::check_golden_blocks(q8_0_rows, "q8_0");
  testing::check_golden_blocks(iq4_nl_rows, "iq4_nl");
}

// The block of x_i = (i - 16) / 8, i = 0 .. 31, and what gguf-py 0.19's `quantize` and `dequantize` make of it.
TEST_CASE("a Q4_1 block decodes to the reference's values", "[format][encoding]") {
  const std::vector<float> values = decoded_row(q4_1_rows, "223400c080809191a2a2b3b3c4c4d5d5e6e6f7f7", 32);
  const std::vector<float> steps{-2.0f,         -1.74169921875f, -1.4833984375f, -1.22509765625f,
                                 -0.966796875f, -0.70849609375f, -0.4501953125f, -0.19189453125f,
                                 0.06640625f,   0.32470703125f,  0.5830078125f,  0.84130859375f,
                                 1.099609375f,  1.35791015625f,  1.6162109375f,  1.87451171875f};
  for (std::size_t i = 0; i < 32; ++i) CHECK(values[i] == steps[i / 2]);
}

TEST_CASE("a row ends at any whole number of blocks", "[format][encoding]") {
  const std::string block = "00300000ffff00112233445566778899aabbccddeeff";  // x_i of above in Q5_0
  std::string row;
  for (int blocks = 1; blocks <= 17; ++blocks) {
    row += block;
    const std::vector<float> values = decoded_row(q5_0_rows, row, 32 * static_cast<std::size_t>(blocks));
    for (std::size_t i = 0; i < values.size(); ++i) {
      REQUIRE(values[i] == (static_cast<float>(i % 32) - 16) / 8);
    }
  }
}
