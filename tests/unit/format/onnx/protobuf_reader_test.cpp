// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/onnx/protobuf_reader.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <vector>

#include "unit/format/onnx/onnx_builder.hpp"

using namespace tulle;
using namespace tulle::test;
using detail::ProtobufReader;

TEST_CASE("fields of a protobuf message are read one after the other", "[format][onnx]") {
  Bytes bytes = joined({field(1, 300), field(2, "text"), field(3, field(7, ~std::uint64_t{0})), field(4, Bytes{})});
  put_varint(bytes, 5 << 3 | 5);
  put(bytes, 2.5f);
  put_varint(bytes, 6 << 3 | 1);
  put(bytes, 1.0);
  ProtobufReader reader(bytes, "x");
  REQUIRE(reader.next());
  CHECK(reader.field() == 1);
  CHECK(reader.number() == 300);
  CHECK(error_of([&] { (void)reader.text(); }) == ErrorCode::malformed);
  REQUIRE(reader.next());
  CHECK(reader.text() == "text");
  REQUIRE(reader.next());
  ProtobufReader inside = reader.message();
  REQUIRE(inside.next());
  CHECK(inside.field() == 7);
  CHECK(inside.number() == ~std::uint64_t{0});
  CHECK_FALSE(inside.next());
  REQUIRE(reader.next());
  CHECK(reader.bytes().empty());
  REQUIRE(reader.next());
  CHECK(reader.real() == 2.5f);
  CHECK(reader.fixed(4).size() == 4);
  CHECK(error_of([&] { (void)reader.fixed(8); }) == ErrorCode::malformed);
  REQUIRE(reader.next());
  CHECK(reader.fixed(8).size() == 8);
  CHECK_FALSE(reader.next());
}

TEST_CASE("repeated numbers are read packed and one by one", "[format][onnx]") {
  Bytes packed;
  for (const std::uint64_t number : {1, 128, 70000}) put_varint(packed, number);
  const Bytes bytes = joined({field(1, packed), field(1, 5)});
  std::vector<std::uint64_t> numbers;
  for (ProtobufReader reader(bytes, "x"); reader.next();) {
    reader.for_each_number([&](std::uint64_t number) { numbers.push_back(number); });
  }
  CHECK(numbers == std::vector<std::uint64_t>{1, 128, 70000, 5});
}

TEST_CASE("what is no protobuf is refused", "[format][onnx]") {
  const auto fails = [](const Bytes& bytes) {
    return error_of([&] {
             for (ProtobufReader reader(bytes, "x"); reader.next();) (void)reader.field();
           }) == ErrorCode::malformed;
  };
  const std::byte more{0xFF};
  CHECK(fails({std::byte{8}}));                                            // a key alone
  CHECK(fails({std::byte{8}, more, more}));                                // a number is cut
  CHECK(fails(joined({{std::byte{8}}, Bytes(9, more), {std::byte{2}}})));  // 65 bits
  CHECK_FALSE(fails(joined({{std::byte{8}}, Bytes(9, more), {std::byte{1}}})));
  CHECK(fails(joined({{std::byte{8}}, Bytes(20, more)})));
  CHECK(fails({std::byte{10}, std::byte{3}, std::byte{0}}));                // 3 bytes, of which one is there
  CHECK(fails(joined({{std::byte{10}}, Bytes(9, more), {std::byte{1}}})));  // 2^64 - 1 bytes
  CHECK(fails({std::byte{13}, std::byte{0}}));                              // 4 bytes, of which one is there
  CHECK(fails({std::byte{11}}));                                            // a group
  CHECK(fails({std::byte{15}}));                                            // no kind
}
