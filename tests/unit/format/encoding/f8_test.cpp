// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/f8.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/encoding/quantized_golden.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;
using testing::values_of;

namespace {

MemorySource two_rows(DType dtype) {
  MemorySource source;
  source.put("a.weight", dtype, {2, 2}, test::to_bytes("\x38\xC0\x7E\x01"));
  return source;
}

std::string message(const MemorySource& source) {
  return test::message_of([&] { (void)open_matrix(source, "a"); });
}

}  // namespace

TEST_CASE("float-quantized matrices are those that compressed-tensors reads", "[format][encoding][golden]") {
  const auto check = [](const std::string& layer, const WeightSource& matrix) {
    CHECK(matrix.code_format() == (layer == "int4" ? CodeFormat{.bits = 8, .group = 32} : CodeFormat{}));
  };
  CHECK(testing::check_quantized("ct_float", check) == 3);
  CHECK(testing::check_quantized("ct_naive", check) == 2);
}

TEST_CASE("floats of 8 bits without scales are kept in F16", "[format][encoding]") {
  const MemorySource one = two_rows(DType::f8_e4m3), other = two_rows(DType::f8_e5m2);
  const auto e4m3 = open_matrix(one, "a"), e5m2 = open_matrix(other, "a");
  CHECK(e4m3->code_format() == CodeFormat{.floats = DType::f16});
  CHECK(values_of(*e4m3) == std::vector<float>{1, -2, 448, 0x1p-9f});
  CHECK(values_of(*e5m2)[0] == 0.5f);
  CHECK(e4m3->size_bytes() == 4);
}

TEST_CASE("scales of floats are of a tensor, a row or a group, in any order of columns", "[format][encoding]") {
  MemorySource source = two_rows(DType::f8_e4m3);
  source.put_floats("a.weight_scale", {1}, {2});
  CHECK(values_of(*open_matrix(source, "a")) == std::vector<float>{2, -4, 896, 0x1p-8f});
  source.put_floats("a.weight_scale", {2, 1}, {2, 0.5f});
  CHECK(values_of(*open_matrix(source, "a")) == std::vector<float>{2, -4, 224, 0x1p-10f});
  source.put_floats("a.weight_scale", {2, 2}, {1, 2, 3, 4});
  CHECK(values_of(*open_matrix(source, "a")) == std::vector<float>{1, -4, 1344, 0x1p-7f});
  source.put("a.weight_g_idx", DType::i32, {2}, test::to_bytes(std::string_view("\1\0\0\0\0\0\0\0", 8)));
  const auto rows = open_matrix(source, "a");
  CHECK(values_of(*rows) == std::vector<float>{2, -2, 1792, 3 * 0x1p-9f});
  CHECK(testing::same_matrix(*rows, *rows->copied()));
  source.put("a.weight_g_idx", DType::i32, {2}, test::to_bytes(std::string_view("\2\0\0\0\0\0\0\0", 8)));
  CHECK(message(source).find("a.weight_g_idx") != std::string::npos);
}

TEST_CASE("zero points of floats and scales that do not fit are refused by name", "[format][encoding]") {
  MemorySource source = two_rows(DType::f8_e4m3);
  source.put_floats("a.weight_scale", {3, 1}, {1, 1, 1});
  CHECK(message(source).find("a.weight_scale") != std::string::npos);
  source.put_floats("a.weight_scale", {1}, {1});
  source.put("a.weight_zero_point", DType::i8, {1}, test::to_bytes("\1"));
  CHECK(message(source).find("has zero points") != std::string::npos);
}
