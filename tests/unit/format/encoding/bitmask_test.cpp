// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/bitmask.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;
using testing::values_of;

namespace {

/// [[0,5,0,0,-3,0,0,0,0,7],[0 x 10],[1,0,0,0,0,0,0,2,3,0]] with scales 1, 1, 2.
MemorySource example(DType values, std::string_view bytes) {
  MemorySource source;
  source.put("a.weight_mask", DType::u8, {3, 2}, test::to_bytes(std::string_view("\x12\x02\0\0\x81\x01", 6)));
  source.put("a.weight_shape", DType::i64, {3}, test::sizes({3, 10, 0}));
  source.put("a.weight_values", values, {bytes.size() / dtype_info(values).block_bytes}, test::to_bytes(bytes));
  if (!is_float_dtype(values)) source.put_floats("a.weight_scale", {3, 1}, {1, 1, 2});
  return source;
}

const std::vector<float> example_values{0, 5, 0, 0, -3, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0,
                                        0, 0, 0, 0, 0,  2, 0, 0, 0, 0, 0, 0, 4, 6, 0};

std::string message(const MemorySource& source) {
  return test::message_of([&] { (void)open_matrix(source, "a"); });
}

}  // namespace

TEST_CASE("nonzeros are codes of 8 or 4 bits, or floats", "[format][encoding]") {
  const MemorySource int8 = example(DType::i8, "\x05\xFD\x07\x01\x02\x03");
  const auto rows = open_matrix(int8, "a"), copy = rows->copied();
  CHECK(rows->code_format() == CodeFormat{.bits = 8});
  CHECK(values_of(*rows) == example_values);
  CHECK(testing::same_matrix(*rows, *copy));

  const MemorySource int4 = example(DType::u8, "\xD5\x07\x21\x03");  // a row begins at a byte
  CHECK(open_matrix(int4, "a")->code_format() == CodeFormat{.bits = 4});
  CHECK(values_of(*open_matrix(int4, "a")) == example_values);

  std::string halves;
  for (const float value : {5.0f, -3.0f, 7.0f, 2.0f, 4.0f, 6.0f}) {
    const Half half = to_half(value);
    halves.append(reinterpret_cast<const char*>(&half), 2);
  }
  const MemorySource floats = example(DType::f16, halves);
  CHECK(open_matrix(floats, "a")->code_format() == CodeFormat{.floats = DType::f16});
  CHECK(values_of(*open_matrix(floats, "a")) == example_values);
  CHECK(values_of(*open_matrix(floats, "a")->copied()) == example_values);
}

TEST_CASE("groups need not divide a row", "[format][encoding]") {
  MemorySource source = example(DType::i8, "\x05\xFD\x07\x01\x02\x03");
  source.put("a.weight_shape", DType::i64, {3}, test::sizes({3, 10, 4}));
  source.put_floats("a.weight_scale", {3, 3}, {1, 2, 3, 1, 1, 1, 1, 1, 0.5f});
  const auto rows = open_matrix(source, "a");
  CHECK(rows->code_format() == CodeFormat{.bits = 8, .group = 4, .half_scales = true});
  const std::vector<float> values = values_of(*rows);
  CHECK((values[1] == 5 && values[4] == -6 && values[9] == 21 && values[28] == 1.5f));
}

TEST_CASE("a mask that does not fit its values or its shape is refused by name", "[format][encoding]") {
  MemorySource source = example(DType::i8, "\x05\xFD\x07\x01\x02\x03");
  CHECK(message(source) == "no error");
  source.put("a.weight_mask", DType::u8, {3, 2}, test::to_bytes(std::string_view("\x12\x02\x01\0\x81\x01", 6)));
  CHECK(message(source).find("a.weight_mask") != std::string::npos);  // one bit more than values
  source.put("a.weight_mask", DType::u8, {3, 2}, test::to_bytes(std::string_view("\x12\x04\0\0\x81\x01", 6)));
  CHECK(message(source).find("beyond its columns") != std::string::npos);
  source = example(DType::i8, "\x05\xFD\x07\x01\x02");
  CHECK(message(source).find("a.weight_mask") != std::string::npos);
  for (const auto& shape :
       {test::sizes({3, 17, 0}), test::sizes({4, 10, 0}), test::sizes({3, 0, 0}), test::sizes({3, 10, 4})}) {
    source = example(DType::i8, "\x05\xFD\x07\x01\x02\x03");
    source.put("a.weight_shape", DType::i64, {3}, shape);
    CHECK(message(source).find("a.weight") != std::string::npos);
  }
  source = example(DType::i32, std::string_view("\0\0\0\0", 4));
  CHECK(message(source).find("a.weight_values") != std::string::npos);
  for (const char* part : {"a.weight_values", "a.weight_scale", "a.weight_shape"}) {
    source = example(DType::i8, "\x05\xFD\x07\x01\x02\x03");
    source.erase(part);
    CHECK(message(source).find(part) != std::string::npos);
  }
}
