// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/q4_0.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

// The block of x_i = (i - 16) / 8, i = 0 .. 31, and what gguf-py 0.19's `quantize` and `dequantize` make of it.
TEST_CASE("a Q4_0 block decodes to the reference's values", "[format][encoding]") {
  CHECK(decoded_row(q4_0_rows, "0034809191a2a2b3b3c4c4d5d5e6e6f7f7f8", 32) ==
        std::vector<float>{-2.0f, -1.75f, -1.75f, -1.5f,  -1.5f, -1.25f, -1.25f, -1.0f, -1.0f, -0.75f, -0.75f,
                           -0.5f, -0.5f,  -0.25f, -0.25f, 0.0f,  0.0f,   0.25f,  0.25f, 0.5f,  0.5f,   0.75f,
                           0.75f, 1.0f,   1.0f,   1.25f,  1.25f, 1.5f,   1.5f,   1.75f, 1.75f, 1.75f});
}
