// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/sparse_bitmask.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/encoding/quantized_golden.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;
using testing::values_of;

namespace {

/// [[0, 5, 0, 0, -3, 0, 0, 0, 0, 7], zeros, [1, 0, 0, 0, 0, 0, 0, 2, 3, 0]] of I8.
MemorySource three_rows(const std::string& stem) {
  MemorySource source;
  source.put(stem + "shape", DType::i64, {2}, test::sizes({3, 10}));
  source.put(stem + "compressed", DType::i8, {6}, test::to_bytes("\x05\xFD\x07\x01\x02\x03"));
  source.put(stem + "bitmask", DType::u8, {3, 2}, test::to_bytes(std::string_view("\x12\x02\0\0\x81\x01", 6)));
  source.put(stem + "row_offsets", DType::i64, {3}, test::sizes({0, 3, 3}));
  source.put_floats("a.weight_scale", {3, 1}, {2, 1, 0.5f});
  return source;
}

/// [1, 0, 0, 2, 0, 3, 4, 0, 0, 0, 5, 0] of F32, in which a zero is kept.
MemorySource two_of_four(const std::string& mask) {
  MemorySource source;
  source.put("a.shape", DType::i64, {2, 1}, test::sizes({1, 12}));
  source.put_floats("a.compressed", {1, 6}, {1, 2, 3, 4, 5, 0});
  source.put("a.bitmask", DType::u8, {1, 2}, test::to_bytes(mask));
  return source;
}

std::string message(const MemorySource& source) {
  return test::message_of([&] { (void)open_matrix(source, "a"); });
}

}  // namespace

TEST_CASE("sparse matrices are those that compressed-tensors wrote", "[format][encoding][golden]") {
  const auto check = [](const std::string&, const WeightSource&) {};
  CHECK(testing::check_quantized("ct_bitmask", check) == 4);
  CHECK(testing::check_quantized("ct_24", check) == 3);
}

TEST_CASE("sparse matrices of codes and of 8-bit floats have their scales", "[format][encoding][golden]") {
  const auto check = [](const std::string& layer, const WeightSource& matrix) {
    CHECK(matrix.code_format().bits == (layer == "float8" ? 0u : 8u));
  };
  CHECK(testing::check_quantized("ct_stacked", check) == 3);
  CHECK(testing::check_quantized("ct_stacked_24", check) == 3);
}

TEST_CASE("the sparse form is read under both of its names", "[format][encoding]") {
  for (const char* stem : {"a.", "a.weight."}) {
    const MemorySource source = three_rows(stem);
    const std::vector<float> values = values_of(*open_matrix(source, "a"));
    CHECK(std::vector<float>(values.begin(), values.begin() + 10) ==
          std::vector<float>{0, 10, 0, 0, -6, 0, 0, 0, 0, 14});
    CHECK(std::vector<float>(values.begin() + 20, values.end()) ==
          std::vector<float>{0.5f, 0, 0, 0, 0, 0, 0, 1, 1.5f, 0});
  }
}

TEST_CASE("a mask whose population is not that of the values is refused", "[format][encoding]") {
  MemorySource source = three_rows("a.");
  const auto with_mask = [&](std::string_view mask) {
    source.put("a.bitmask", DType::u8, {3, 2}, test::to_bytes(mask));
    return message(source);
  };
  CHECK(with_mask({"\x12\x02\0\0\x80\x01", 6}).find("\"a.bitmask\" has not as many bits") != std::string::npos);
  CHECK(with_mask({"\x12\x02\0\1\x81\x01", 6}).find("\"a.bitmask\" has not as many bits") != std::string::npos);
  CHECK(with_mask({"\x12\x04\0\0\x81\x01", 6}).find("\"a.bitmask\" has bits beyond its columns") != std::string::npos);
  CHECK(with_mask({"\x12\x02\0\0\x81\x01", 6}) == "no error");
}

TEST_CASE("2:4 keeps two of every four", "[format][encoding]") {
  const MemorySource source = two_of_four("\x69\x0C");
  CHECK(values_of(*open_matrix(source, "a")) == std::vector<float>{1, 0, 0, 2, 0, 3, 4, 0, 0, 0, 5, 0});
  for (const char* mask : {"\x79\x08", "\x1D\x0C", "\x69\x3C", "\x69\x1C"}) {
    CHECK(message(two_of_four(mask)).find("\"a.bitmask\" has") != std::string::npos);
  }
}

TEST_CASE("sparse tensors that do not fit together are refused by name", "[format][encoding]") {
  const auto refused = [](const char* name, DType dtype, std::vector<std::size_t> shape, std::vector<std::byte> bytes) {
    MemorySource source = three_rows("a.");
    source.put(name, dtype, std::move(shape), std::move(bytes));
    return message(source).find(name) != std::string::npos || message(source).find("a.bitmask") != std::string::npos;
  };
  CHECK(refused("a.shape", DType::i64, {2}, test::sizes({3, 17})));
  CHECK(refused("a.shape", DType::i64, {2}, test::sizes({4, 10})));
  CHECK(refused("a.shape", DType::i64, {2}, test::sizes({-3, 10})));
  CHECK(refused("a.shape", DType::i64, {2}, test::sizes({0, 0})));
  CHECK(refused("a.shape", DType::i64, {2}, test::sizes({0xFFFFFFFF, 0xFFFFFFFF})));
  CHECK(refused("a.shape", DType::i64, {3}, test::sizes({3, 10, 1})));
  CHECK(refused("a.bitmask", DType::i8, {3, 2}, std::vector<std::byte>(6)));
  CHECK(refused("a.bitmask", DType::u8, {6}, std::vector<std::byte>(6)));
  CHECK(refused("a.compressed", DType::i8, {5}, std::vector<std::byte>(5)));
  CHECK(refused("a.compressed", DType::boolean, {6}, std::vector<std::byte>(6)));
  MemorySource source = three_rows("a.");
  source.erase("a.compressed");
  CHECK(message(source).find("a.compressed") != std::string::npos);
  source = three_rows("a.");
  source.erase("a.weight_scale");
  CHECK(message(source).find("a.weight_scale") != std::string::npos);
}

TEST_CASE("a vector is expanded", "[format][encoding]") {
  MemorySource source;
  source.put("n.shape", DType::i64, {1}, test::sizes({10}));
  source.put("n.compressed", DType::i8, {3}, test::to_bytes("\5\6\7"));
  source.put("n.bitmask", DType::u8, {2}, test::to_bytes("\x12\x02"));
  CHECK(expand_sparse_vector(source, *source.find("n.bitmask")) ==
        test::to_bytes(std::string_view("\0\5\0\0\6\0\0\0\0\7", 10)));
  source.put("n.shape", DType::i64, {1}, test::sizes({17}));
  CHECK(test::error_of([&] { expand_sparse_vector(source, *source.find("n.bitmask")); }) == ErrorCode::malformed);
}
