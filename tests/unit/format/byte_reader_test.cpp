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

TEST_CASE("a reader of a file's head tells a head that is too short from a file that is", "[format][byte_reader]") {
  const Bytes head(8);
  detail::ByteReader reader(head, 100, "f");
  CHECK(reader.remaining() == 100);
  CHECK(reader.take(6, "x").size() == 6);
  try {
    reader.take(10, "x");
    FAIL("read past the head");
  } catch (const detail::HeadTooShort& short_head) {
    CHECK(short_head.needed == 16);
  }
  CHECK(error_of([&] { reader.take(95, "x"); }) == ErrorCode::malformed);
  CHECK(reader.count(47, 2, "n") == 47);
  CHECK(error_of([&] { reader.count(48, 2, "n"); }) == ErrorCode::malformed);
}

TEST_CASE("of a lent file as much is read as its head turns out to need", "[format][byte_reader]") {
  std::size_t longest = 0, calls = 0;
  const InputFile file(10'000'000, [&](std::uint64_t offset, std::span<std::byte> out) {
    longest = std::max(longest, static_cast<std::size_t>(offset) + out.size());
    std::fill(out.begin(), out.end(), std::byte{1});
  });
  const auto sum_of = [&](std::size_t count) {
    return detail::parse_head(file, [&](std::span<const std::byte> head) {
      ++calls;
      detail::ByteReader reader(head, file.size(), "f");
      std::size_t sum = 0;
      while (sum + 8 <= count) sum += 8 * (reader.read<std::uint64_t>("eight bytes") & 0xFF);
      while (sum < count) sum += reader.read<std::uint8_t>("byte");
      return sum;
    });
  };
  CHECK(sum_of(1000) == 1000);
  CHECK(calls == 1);
  CHECK(longest == 1 << 20);
  calls = 0;
  CHECK(sum_of(3'000'000) == 3'000'000);
  CHECK(calls == 3);
  CHECK(longest == 4 << 20);
  CHECK(sum_of(10'000'000) == 10'000'000);
  CHECK(error_of([&] { sum_of(10'000'001); }) == ErrorCode::malformed);
}
