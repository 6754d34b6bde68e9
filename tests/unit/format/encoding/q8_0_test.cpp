// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/q8_0.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

// The block of x_i = (i - 16) / 8, i = 0 .. 31, and what gguf-py 0.19's `quantize` and `dequantize` make of it.
TEST_CASE("a Q8_0 block decodes to the reference's values", "[format][encoding]") {
  CHECK(decoded_row(q8_0_rows, "082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77", 32) ==
        std::vector<float>{-1.9998779296875f,
                           -1.8739013671875f,
                           -1.7479248046875f,
                           -1.6219482421875f,
                           -1.4959716796875f,
                           -1.3699951171875f,
                           -1.2440185546875f,
                           -1.1180419921875f,
                           -1.0078125f,
                           -0.8818359375f,
                           -0.755859375f,
                           -0.6298828125f,
                           -0.50390625f,
                           -0.3779296875f,
                           -0.251953125f,
                           -0.1259765625f,
                           0.0f,
                           0.1259765625f,
                           0.251953125f,
                           0.3779296875f,
                           0.50390625f,
                           0.6298828125f,
                           0.755859375f,
                           0.8818359375f,
                           1.0078125f,
                           1.1180419921875f,
                           1.2440185546875f,
                           1.3699951171875f,
                           1.4959716796875f,
                           1.6219482421875f,
                           1.7479248046875f,
                           1.8739013671875f});
}
