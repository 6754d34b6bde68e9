// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/blocks_of_256.hpp>

#include <bit>
#include <catch2/catch_all.hpp>
#include <cstring>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

TEST_CASE("random blocks of 256 decode to the bits of the reference", "[format][encoding]") {
  testing::check_golden_blocks(q2_k_rows, "q2_k");
  testing::check_golden_blocks(q3_k_rows, "q3_k");
  testing::check_golden_blocks(q4_k_rows, "q4_k");
  testing::check_golden_blocks(q5_k_rows, "q5_k");
  testing::check_golden_blocks(q6_k_rows, "q6_k");
  testing::check_golden_blocks(iq4_xs_rows, "iq4_xs");
  testing::check_golden_blocks(tq1_0_rows, "tq1_0");
  testing::check_golden_blocks(tq2_0_rows, "tq2_0");
}

// gguf-py has no Q8_K: ggml-quants.c, dequantize_row_q8_K, states that a value is d * code.
TEST_CASE("a Q8_K block is an f32 scale, codes, and sums that are not read", "[format][encoding]") {
  for (const float scale : {0x1.234568p-7f, -3.0f, 0x1p-149f}) {
    std::vector<std::byte> block(292, std::byte{0xFF});
    std::memcpy(block.data(), &scale, 4);
    for (std::size_t i = 0; i < 256; ++i) block[4 + i] = static_cast<std::byte>(i);
    const std::vector<float> values = decoded_row(q8_k_rows, block, 256);
    for (std::size_t i = 0; i < 256; ++i) REQUIRE(values[i] == scale * static_cast<float>(static_cast<std::int8_t>(i)));
  }
}
