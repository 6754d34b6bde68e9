// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/pytorch/zip_archive.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::test;

namespace {

struct Member {
  std::string name, data;
  unsigned method = 0, flags = 0;
};

/// `wide`: sizes and places of 64 bits, as of archives over 4 GB.
Bytes zip(const std::vector<Member>& members, bool wide = false, std::string_view comment = "") {
  Bytes file, directory;
  const auto put_numbers = [](Bytes& bytes, const Member& member, std::uint32_t size) {
    put(bytes, static_cast<std::uint16_t>(member.flags));
    put(bytes, static_cast<std::uint16_t>(member.method));
    for (const std::uint32_t number : {0u, 0u, size, size}) put(bytes, number);  // time, checksum, sizes
    put(bytes, static_cast<std::uint16_t>(member.name.size()));
  };
  for (const Member& member : members) {
    const std::uint64_t head = file.size(), size = member.data.size();
    put(file, std::uint32_t{0x04034B50});
    put(file, std::uint16_t{20});
    put_numbers(file, member, static_cast<std::uint32_t>(size));
    put(file, std::uint16_t{3});
    put_text(file, member.name + "pad" + member.data);

    put(directory, std::uint32_t{0x02014B50});
    put(directory, std::uint32_t{0x00140014});
    put_numbers(directory, member, wide ? 0xFFFFFFFF : static_cast<std::uint32_t>(size));
    put(directory, static_cast<std::uint16_t>(wide ? 28 : 0));
    directory.resize(directory.size() + 10);  // comment, disk, attributes
    put(directory, wide ? 0xFFFFFFFF : static_cast<std::uint32_t>(head));
    put_text(directory, member.name);
    if (!wide) continue;
    put(directory, std::uint32_t{24 << 16 | 1});
    for (const std::uint64_t number : {size, size, head}) put(directory, number);
  }
  const std::uint64_t begin = file.size(), size = directory.size(), count = members.size();
  file.insert(file.end(), directory.begin(), directory.end());
  const std::uint64_t wide_end = file.size();
  if (wide) {
    put(file, std::uint32_t{0x06064B50});
    file.resize(file.size() + 20);
    for (const std::uint64_t number : {count, count, size, begin}) put(file, number);
    put(file, std::uint64_t{0x07064B50});
    put(file, wide_end);
    put(file, std::uint32_t{1});
  }
  put(file, std::uint64_t{0x06054B50});
  for (int i = 0; i < 2; ++i) put(file, static_cast<std::uint16_t>(wide ? 0xFFFF : count));
  put(file, wide ? 0xFFFFFFFF : static_cast<std::uint32_t>(size));
  put(file, wide ? 0xFFFFFFFF : static_cast<std::uint32_t>(begin));
  put(file, static_cast<std::uint16_t>(comment.size()));
  put_text(file, comment);
  return file;
}

std::string data_of(const Bytes& bytes, std::string_view name) {
  const InputFile file{std::span<const std::byte>(bytes)};
  const auto range = detail::ZipArchive(file, "x.zip").locate(name);
  const auto data = file.view(range.offset, range.size);
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::string message(const Bytes& bytes, std::string_view name = "b/two") {
  return message_of([&] { data_of(bytes, name); });
}

const std::vector<Member> two{{"a/one", "first"}, {"b/two", "second PK"}};

}  // namespace

TEST_CASE("members are found in small and in large archives", "[format][pytorch]") {
  for (const bool wide : {false, true}) {
    const Bytes bytes = zip(two, wide, "PK\5\6 in a comment");
    CHECK(data_of(bytes, "a/one") == "first");
    CHECK(data_of(bytes, "b/two") == "second PK");
    CHECK(message(bytes, "b/three").find("\"b/three\"") != std::string::npos);
    const InputFile file{std::span<const std::byte>(bytes)};
    const detail::ZipArchive archive(file, "x.zip");
    CHECK(archive.find_end("/two") == "b/two");
    CHECK(archive.find_end("/three").empty());
    CHECK((archive.has("a/one") && !archive.has("one")));
  }
}

TEST_CASE("compressed, encrypted and doubled members are refused by name", "[format][pytorch]") {
  CHECK(message(zip({{"b/two", "x", 8}})).find("\"b/two\" is compressed") != std::string::npos);
  CHECK(message(zip({{"b/two", "x", 0, 1}})).find("encrypted") != std::string::npos);
  CHECK(message(zip({two[0], two[0]})).find("twice") != std::string::npos);
  CHECK(message(to_bytes("no archive at all, but long enough")).find("no directory") != std::string::npos);
  CHECK(message({}).find("no directory") != std::string::npos);
}

TEST_CASE("a damaged archive is refused or read inside of its bounds", "[format][pytorch]") {
  for (const bool wide : {false, true}) {
    const std::size_t refused = survive_mutations(zip(two, wide), 2000, [](const Bytes& bytes) {
      for (const Member& member : two) data_of(bytes, member.name);
    });
    CHECK(refused > 100);
  }
}
