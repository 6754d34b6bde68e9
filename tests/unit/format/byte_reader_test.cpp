// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/byte_reader.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

TEST_CASE("values are read one after the other, at any alignment", "[format][byte_reader]") {
  Bytes bytes;
  put<std::uint8_t>(bytes, 7);
  put<std::uint32_t>(bytes, 0x01020304);
  put<float>(bytes, 1.5f);
  put_text(bytes, "abc");
  detail::ByteReader reader(bytes, "f");
  CHECK(reader.read<std::uint8_t>("a") == 7);
  CHECK(reader.read<std::uint32_t>("b") == 0x01020304);
  CHECK(reader.read<float>("c") == 1.5f);
  CHECK(reader.position() == 9);
  CHECK(reader.remaining() == 3);
  CHECK(reader.text(3, "d") == "abc");
  CHECK(reader.take(0, "e").empty());
}

TEST_CASE("a read past the end says what was read, where, and does not move", "[format][byte_reader]") {
  const Bytes bytes(3);
  detail::ByteReader reader(bytes, "f.gguf");
  CHECK(error_of([&] { reader.read<std::uint32_t>("the version"); }) == ErrorCode::malformed);
  CHECK(error_of([&] { reader.take(std::numeric_limits<std::uint64_t>::max(), "x"); }) == ErrorCode::malformed);
  const std::string message = message_of([&] { reader.read<std::uint32_t>("the version"); });
  CHECK(message.starts_with("f.gguf: the version at byte 0"));
  CHECK(reader.position() == 0);
}

TEST_CASE("a count is believed only when so much can follow", "[format][byte_reader]") {
  const Bytes bytes(16);
  const detail::ByteReader reader(bytes, "f");
  CHECK(reader.count(2, 8, "n") == 2);
  CHECK(error_of([&] { reader.count(3, 8, "n"); }) == ErrorCode::malformed);
  CHECK(error_of([&] { reader.count(std::uint64_t{1} << 61, 8, "n"); }) == ErrorCode::malformed);
}
