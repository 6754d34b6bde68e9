// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/q4_1.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

// The block of x_i = (i - 16) / 8, i = 0 .. 31, and what gguf-py 0.19's `quantize` and `dequantize` make of it.
TEST_CASE("a Q4_1 block decodes to the reference's values", "[format][encoding]") {
  const std::vector<float> values = decoded_row(q4_1_rows, "223400c080809191a2a2b3b3c4c4d5d5e6e6f7f7", 32);
  const std::vector<float> steps{-2.0f,         -1.74169921875f, -1.4833984375f, -1.22509765625f,
                                 -0.966796875f, -0.70849609375f, -0.4501953125f, -0.19189453125f,
                                 0.06640625f,   0.32470703125f,  0.5830078125f,  0.84130859375f,
                                 1.099609375f,  1.35791015625f,  1.6162109375f,  1.87451171875f};
  for (std::size_t i = 0; i < 32; ++i) CHECK(values[i] == steps[i / 2]);
}
