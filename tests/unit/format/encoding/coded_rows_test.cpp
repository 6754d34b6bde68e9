// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/coded_rows.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;
using testing::values_of;

namespace {

/// I8 [2, 4] with two scales in a row.
MemorySource grouped_i8(const std::vector<float>& scales) {
  MemorySource source;
  source.put("a.weight", DType::i8, {2, 4}, test::to_bytes("\x01\xFF\x80\x7F\x02\x03\x04\x05"));
  source.put_floats("a.weight_scale", {2, 2}, scales);
  return source;
}

}  // namespace

TEST_CASE("int8 codes have scales per group, which are half where F16 holds them", "[format][encoding]") {
  const MemorySource source = grouped_i8({0.5f, 2, 0.25f, 1});
  const auto rows = open_matrix(source, "a");
  CHECK(rows->code_format() == CodeFormat{.bits = 8, .group = 2, .half_scales = true});
  CHECK(values_of(*rows) == std::vector<float>{0.5f, -0.5f, -256, 254, 0.5f, 0.75f, 4, 5});
  CHECK_FALSE(open_matrix(grouped_i8({0.1f, 2, 0.25f, 1}), "a")->code_format().half_scales);
}

TEST_CASE("int8 codes with zero points are read as floats", "[format][encoding]") {
  MemorySource source = grouped_i8({0.5f, 2, 0.25f, 1});
  source.put("a.weight_zero_point", DType::i8, {2, 2}, test::to_bytes(std::string_view("\x01\xFF\0\x80", 4)));
  const auto rows = open_matrix(source, "a");
  CHECK(rows->code_format() == CodeFormat{});
  CHECK(values_of(*rows) == std::vector<float>{0, -1, -254, 256, 0.5f, 0.75f, 132, 133});
  source.put("a.weight_zero_point", DType::i8, {2, 2}, std::vector<std::byte>(4));
  CHECK(open_matrix(source, "a")->code_format().bits == 8);
}
