// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/encodings.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("every encoding is found by its type, each once", "[format][encoding]") {
  for (const Encoding& encoding : encodings()) CHECK(find_encoding(encoding.dtype) == &encoding);
  for (const DType dtype : {DType::u8, DType::boolean, DType::q8_1, DType::iq2_xxs}) {
    CHECK(find_encoding(dtype) == nullptr);
  }
  CHECK(encoding_names().starts_with("F32, F16, BF16, I8, Q8_0"));
}

TEST_CASE("a matrix is opened by the name of its layer", "[format][encoding]") {
  testing::MemorySource source;
  for (const Encoding& encoding : encodings()) {
    source.put_random("a.weight", encoding.dtype, 20, 256, 3);
    const auto rows = open_matrix(source, "a");
    CAPTURE(dtype_name(encoding.dtype));
    CHECK(rows->rows() == 20);
    CHECK(rows->columns() == 256);
  }
  CHECK(open_matrix(source, "b") == nullptr);
  CHECK(open_matrix(source, "a.weight") == nullptr);
}

TEST_CASE("what was read is released with the matrix", "[format][encoding]") {
  testing::MemorySource memory;
  memory.put_random("a.weight", DType::q8_0, 4, 64, 3);
  const testing::LentSource source(memory);
  auto rows = open_matrix(source, "a");
  CHECK(source.still_held() == 4 * 68);
  rows.reset();
  CHECK(source.still_held() == 0);
}

TEST_CASE("the order of a tensor is that of its rows", "[format][encoding]") {
  testing::MemorySource source;
  source.put_random("a.weight", DType::f32, 8, 4, 3);
  source.put_order("a.weight", RowOrder::halves_of_pairs(2, 4));
  std::vector<float> row(4);
  open_matrix(source, "a")->decode_row(5, row.data());
  CHECK(row == source.row("a.weight", 6));
}

TEST_CASE("other types and shapes are refused", "[format][encoding]") {
  testing::MemorySource source;
  source.put("a.weight", DType::boolean, {2, 2}, std::vector<std::byte>(4));
  CHECK(test::error_of([&] { (void)open_matrix(source, "a"); }) == ErrorCode::unsupported);
  source.put_floats("a.weight", {4}, {1, 2, 3, 4});
  CHECK(test::error_of([&] { (void)open_matrix(source, "a"); }) == ErrorCode::malformed);
}
