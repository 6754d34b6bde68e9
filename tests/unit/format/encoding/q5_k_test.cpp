// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/q5_k.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/core/mapped_file.hpp>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"
#include "unit/generate/golden_model.hpp"
#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using testing::decoded_row;

// tests/golden/make_blocks.py: what gguf-py 0.19 makes of them.
TEST_CASE("random Q5_K blocks decode to the bits of the reference", "[format][encoding]") {
  const MappedFile file(TULLE_GOLDEN "/models/gguf/q5_k.blocks.bin");
  const std::vector<std::byte> blocks(file.bytes().begin(), file.bytes().end());
  const std::vector<float> expected = testing::golden_floats("models/gguf/q5_k.values.npy");
  REQUIRE(expected.size() == blocks.size() / 176 * 256);
  const std::vector<float> values = decoded_row(q5_k_rows, blocks, expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(testing::same_value(values[i], expected[i]));
}
