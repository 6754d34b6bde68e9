// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/file_rows.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <span>
#include <vector>

#include <tulle/format/encoding/blocks_of_32.hpp>
#include <tulle/format/encoding/plain.hpp>

#include "unit/format/encoding/block_rows.hpp"
#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("rows are found by their numbers, in any order", "[format][encoding]") {
  const std::vector<float> values{0, 1, 10, 11, 20, 21};
  const FileRows rows(f32_rows, std::make_unique<const MatrixBytes>(std::as_bytes(std::span(values))), 3, 2);
  CHECK(rows.rows() == 3);
  CHECK(rows.columns() == 2);
  CHECK(rows.size_bytes() == 24);
  CHECK(rows.code_format() == CodeFormat{});
  const std::vector<std::uint32_t> wanted{2, 0};
  float out[2][4] = {};
  rows.decode(wanted, {out[0], 2, 2, 4});
  CHECK((out[0][0] == 20 && out[0][1] == 21 && out[0][2] == 0 && out[1][1] == 1));
}

TEST_CASE("a copy has the same rows and needs no file", "[format][encoding]") {
  const auto matrix = testing::random_matrix(DType::q4_1, 3, 64, 5);
  std::shared_ptr<const WeightSource> copy;
  {
    const std::vector<std::byte> bytes(matrix.bytes.begin() + 1, matrix.bytes.end());
    copy = FileRows(q4_1_rows, std::make_unique<const MatrixBytes>(bytes), 3, 64).copied();
  }
  const std::vector<std::uint32_t> all{0, 1, 2};
  std::vector<float> expected(3 * 64), found(3 * 64), scales(6), minimums(6);
  matrix.rows.decode(all, {expected.data(), 3, 64});
  copy->decode(all, {found.data(), 3, 64});
  CHECK(found == expected);
  std::vector<std::int8_t> codes(3 * 64);
  copy->codes(all, {codes.data(), 3, 64}, scales.data(), minimums.data());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CHECK(scales[i / 32] * static_cast<float>(codes[i]) + minimums[i / 32] == expected[i]);
  }
}

TEST_CASE("the same rows are read from other bytes of their number", "[format][encoding]") {
  const auto matrix = testing::random_matrix(DType::q8_0, 3, 64, 5),
             other = testing::random_matrix(DType::q8_0, 3, 64, 6);
  const auto bytes_of = [](const auto& encoded) { return std::span<const std::byte>(encoded.bytes).subspan(1); };
  const FileRows rows(q8_0_rows, std::make_unique<const MatrixBytes>(bytes_of(matrix)), 3, 64);
  CHECK(rows.bytes().data() == bytes_of(matrix).data());
  CHECK(rows.bytes().size() == rows.size_bytes());
  const auto over = rows.over(bytes_of(other));
  std::vector<float> expected(64), found(64);
  for (std::size_t row = 0; row < 3; ++row) {
    other.rows.decode_row(row, expected.data());
    over->decode_row(row, found.data());
    CHECK(found == expected);
  }
  CHECK(rows.over(bytes_of(other).first(rows.size_bytes() - 1)) == nullptr);
  CHECK(rows.over({}) == nullptr);
}

TEST_CASE("a row that is no whole number of blocks is malformed", "[format][encoding]") {
  try {
    (void)FileRows(q4_1_rows, std::make_unique<const MatrixBytes>(std::span<const std::byte>()), 0, 33);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::malformed);
  }
}
