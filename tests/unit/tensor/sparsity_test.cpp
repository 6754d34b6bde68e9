// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/sparsity.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

/// Rows of '.' (zero) and 'x' (not zero) as I8 codes, measured.
Sparsity measure(const std::vector<std::string>& drawing) {
  std::vector<std::vector<std::byte>> codes;
  for (const std::string& row : drawing) {
    codes.emplace_back();
    for (const char mark : row) codes.back().push_back(static_cast<std::byte>(mark == 'x' ? 0xFD : 0));
  }
  testing::RowList rows(drawing.empty() ? 16 : drawing.front().size());
  for (const auto& row : codes) rows.append(row.data(), DType::i8);
  return measure_sparsity(rows);
}

}  // namespace

TEST_CASE("the strictest balanced pattern that every row keeps is named", "[tensor][sparsity]") {
  CHECK(measure({"x....x....x....x", "................"}).structure == "1:4");
  CHECK(measure({"x....x....x....x", "xxxx............"}).structure == "4:16");
  CHECK(measure({"x....x....x....x", "xx..x.x..x.x..xx"}).structure == "2:4");
  CHECK(measure({"xxxx....x.x.xx..", "xx..x.x..x.x..xx"}).structure == "4:8");
  CHECK(measure({"xxxxxxxx........", "xx..x.x..x.x..xx"}).structure == "8:16");
  CHECK(measure({"xxxxxxxxx.......", "................"}).structure == "unstructured");
}

TEST_CASE("groups are counted from column 0 and every one must keep the pattern", "[tensor][sparsity]") {
  CHECK(measure({"xx..xx..xx..xx..", "xx...xxx.x.xx..."}).structure == "8:16");
  CHECK(measure({".xx..xx..xx..xx."}).structure == "2:4");
  CHECK(measure({"....xxx.........", "..xx..xx..xx..xx"}).structure == "4:8");
  CHECK(measure({"....xxx.........", "..xx..xx..xx..xx"}).structure == "4:8");
  CHECK(measure({"..xxx...........", "..xx..xx.xxx..xx"}).structure == "unstructured");
}

TEST_CASE("a pattern needs a whole number of groups in a row", "[tensor][sparsity]") {
  CHECK(measure({"xx..xx..", "..xx..xx"}).structure == "2:4");
  CHECK(measure({"xxxx....", "....xxxx"}).structure == "4:8");
  CHECK(measure({"xx..xx", "..xx.."}).structure == "unstructured");
}

TEST_CASE("few zeros do not make a matrix sparse", "[tensor][sparsity]") {
  const Sparsity one_eighth = measure({"xxxxxxx.xxxxxxx."});
  CHECK(one_eighth.structure == "dense");
  CHECK(one_eighth.zeros == 2);
  CHECK(one_eighth.elements == 16);
  CHECK(one_eighth.share() == 0.125);
  CHECK(measure({"xxx.xxxxxxx.xxx.xxx."}).structure == "unstructured");
}

TEST_CASE("values count, not bytes: a zero of either sign, a code or a scale of zero", "[tensor][sparsity]") {
  const std::vector<float> signed_zeros{0.0f, -0.0f, 1.0f, 2.0f};
  testing::RowList floats(4);
  floats.append(reinterpret_cast<const std::byte*>(signed_zeros.data()), DType::f32);
  CHECK(measure_sparsity(floats).zeros == 2);

  std::vector<std::byte> q4_0(18, std::byte{0x98});  // low nibbles 8: zero; high nibbles 9: one
  testing::RowList blocks(32);
  blocks.append(q4_0.data(), DType::q4_0);
  CHECK(measure_sparsity(blocks).zeros == 16);
  q4_0[0] = q4_0[1] = std::byte{0};
  CHECK(measure_sparsity(blocks).zeros == 32);
}

TEST_CASE("a matrix without rows is dense and empty", "[tensor][sparsity]") {
  const Sparsity empty = measure({});
  CHECK(empty.elements == 0);
  CHECK(empty.share() == 0);
  CHECK(empty.structure == "dense");
}
