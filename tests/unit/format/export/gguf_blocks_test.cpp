// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/gguf_blocks.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <limits>
#include <string>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"
#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::testing;

namespace {

/// The bytes of a matrix.
std::vector<std::byte> bytes_of(const MadeModel& model, DType dtype, const RowOrder& order = {}) {
  std::vector<std::byte> bytes;
  gguf_matrix(model, model_parts(model, Json::object()).matrices.at(0), "x", order, dtype)
      .write([&](std::span<const std::byte> row) { bytes.insert(bytes.end(), row.begin(), row.end()); });
  return bytes;
}

MadeModel of_floats(std::size_t rows, const std::vector<float>& values) {
  MadeModel model;
  model.tensors.put_floats("a.weight", {rows, values.size() / rows}, values);
  return model;
}

}  // namespace

TEST_CASE("blocks are those of ggml", "[format][export]") {
  std::vector<float> ramp;  // the vectors of ggml-quants.c and gguf-py for (i - 16) / 8
  for (int i = 0; i < 32; ++i) ramp.push_back(static_cast<float>(i - 16) / 8);
  CHECK(bytes_of(of_floats(1, ramp), DType::q8_0) ==
        from_hex("082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77"));
  CHECK(bytes_of(of_floats(1, ramp), DType::q4_0) == from_hex("0034809191a2a2b3b3c4c4d5d5e6e6f7f7f8"));
  std::vector<float> zeros(32);
  CHECK(bytes_of(of_floats(1, zeros), DType::q8_0) == std::vector<std::byte>(34));
  zeros[3] = std::numeric_limits<float>::infinity();
  CHECK(test::message_of([&] { (void)bytes_of(of_floats(1, zeros), DType::q4_0); }).find("\"a\"") != std::string::npos);
}

TEST_CASE("codes that are those of the block type are kept", "[format][export]") {
  for (const std::size_t bits : {std::size_t{4}, std::size_t{8}}) {
    const DType dtype = bits == 4 ? DType::q4_0 : DType::q8_0;
    MadeModel model;
    model.put("a", 5, 64, {.bits = bits, .group = 32, .half_scales = true});
    MemorySource copy;
    copy.put("a.weight", dtype, {5, 64}, bytes_of(model, dtype));
    CHECK(same_matrix(*open_matrix(copy, "a"), *model.matrix("a")));
  }
}

TEST_CASE("rows are in the order of the file", "[format][export]") {
  const MadeModel model = of_floats(4, {0, 1, 2, 3});
  MemorySource copy;
  copy.put("a.weight", DType::f16, {4, 1}, bytes_of(model, DType::f16, RowOrder::halves_of_pairs(1, 4)));
  CHECK(values_of(*open_matrix(copy, "a")) == std::vector<float>{0, 2, 1, 3});
}
