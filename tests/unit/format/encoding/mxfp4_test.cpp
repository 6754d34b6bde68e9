// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/mxfp4.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"
#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;

namespace {

/// Two rows of a block each: all 16 values twice, and one value with the smallest and the largest power.
MemorySource blocks() {
  MemorySource source;
  std::vector<std::byte> bytes(32);
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(i | (15 - i) << 4);
  for (std::size_t i = 16; i < 32; ++i) bytes[i] = std::byte{0x21};
  source.put("a_blocks", DType::u8, {2, 1, 16}, bytes);
  source.put("a_scales", DType::u8, {2, 1}, {std::byte{127}, std::byte{129}});
  return source;
}

}  // namespace

// The values: OCP Microscaling Formats (MX) Specification 1.0, table 5.
TEST_CASE("MXFP4 values are those of the specification, as int8 codes with a scale a block", "[format][encoding]") {
  const MemorySource source = blocks();
  const auto rows = open_matrix(source, "a");
  CHECK(rows->code_format() == CodeFormat{.bits = 8, .group = 32, .half_scales = true});
  const std::vector<float> values{0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  const std::vector<float> found = testing::values_of(*rows);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(found[2 * i] == values[i]);
    CHECK(found[2 * i + 1] == values[15 - i]);
    CHECK(found[32 + 2 * i] == 2.0f);
    CHECK(found[32 + 2 * i + 1] == 4.0f);
  }
  CHECK(testing::same_matrix(*rows, *rows->copied()));
}

TEST_CASE("MXFP4 tensors that do not fit together are errors", "[format][encoding]") {
  const auto code_of = [](const MemorySource& source) {
    return test::error_of([&] { (void)open_matrix(source, "a"); });
  };
  MemorySource source = blocks();
  source.erase("a_scales");
  CHECK(code_of(source) == ErrorCode::not_found);
  source = blocks();
  source.put("a_scales", DType::u8, {1, 2}, std::vector<std::byte>(2));
  CHECK(code_of(source) == ErrorCode::malformed);
  source = blocks();
  source.put("a_blocks", DType::u8, {2, 2, 8}, std::vector<std::byte>(32));
  CHECK(code_of(source) == ErrorCode::malformed);
  source = blocks();
  source.put("a_blocks", DType::i8, {2, 1, 16}, std::vector<std::byte>(32));
  CHECK(code_of(source) == ErrorCode::malformed);
}

// Columns j and j + 16 share a byte: `repack_mxfp4_blocks` of llama.cpp's converter.
TEST_CASE("a block of MXFP4 in a GGUF file has columns 16 apart in a byte", "[format][encoding]") {
  CHECK(testing::decoded_row(mxfp4_rows, "80f0e1d2c3b4a5968778695a4b3c2d1e0f", 32) ==
        std::vector<float>{0,   1,  2,  3,  4,  6,  8,  12,    -0.0f, -1, -2, -3, -4, -6, -8, -12,
                           -12, -8, -6, -4, -3, -2, -1, -0.0f, 12,    8,  6,  4,  3,  2,  1,  0});
  CHECK(find_encoding(DType::mxfp4) != nullptr);
  testing::check_golden_blocks(mxfp4_rows, "mxfp4");
}
