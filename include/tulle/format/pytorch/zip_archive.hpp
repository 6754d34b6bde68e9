// SPDX-License-Identifier: Apache-2.0
/// \file Zip archives whose members are stored as they are: where the bytes of a member lie (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle::detail {

/// The directory of a zip archive (APPNOTE.TXT 6.3), zip64 included; one file, without encryption.
class ZipArchive {
 public:
  struct Range {
    std::uint64_t offset, size;
  };

  /// Lifetime: that of `file`. `where` names it in messages. Errors: malformed; those of reading.
  ZipArchive(const InputFile& file, std::string_view where) : file_(file), where_(where) { read_directory(); }

  /// The name of the first member, in the order of names, that ends so; "" where there is none.
  std::string_view find_end(std::string_view end) const noexcept {
    for (const auto& [name, member] : members_) {
      if (name.ends_with(end)) return name;
    }
    return "";
  }
  bool has(std::string_view name) const noexcept { return members_.find(name) != members_.end(); }

  /// The bytes of a member, inside the file. Errors: not_found; unsupported when they are compressed or encrypted;
  /// malformed; those of reading.
  Range locate(std::string_view name) const {
    const auto found = members_.find(name);
    if (found == members_.end()) fail(ErrorCode::not_found, where_, " has no member ", quoted_name(name));
    const Member& member = found->second;
    if (member.method != 0 || (member.flags & 1) != 0) {
      fail(ErrorCode::unsupported, where_, ": the member ", quoted_name(name),
           " is compressed or encrypted; only stored ones are read: pack the file again with \"zip -0\"");
    }
    constexpr std::uint64_t head_size = 30;
    const Bytes head(file_, member.head, head_size);
    ByteReader reader(head.span(), where_);
    if (reader.read<std::uint32_t>("a member's head") != 0x04034B50) fail_member(name);
    reader.take(22, "a member's head");
    const auto name_size = reader.read<std::uint16_t>("a name"), extra_size = reader.read<std::uint16_t>("an extra");
    const std::uint64_t offset = member.head + head_size + name_size + extra_size;
    if (offset > directory_ || member.size > directory_ - offset) fail_member(name);
    return {offset, member.size};
  }

 private:
  struct Member {
    std::uint64_t size, head;  // head: the byte at which it begins
    unsigned method, flags;
  };

  /// Bytes of the file, released at the end of this object's life.
  class Bytes {
   public:
    Bytes(const InputFile& file, std::uint64_t offset, std::uint64_t size)
        : file_(file), bytes_(file.view(offset, size)) {}
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() { file_.release(bytes_); }
    std::span<const std::byte> span() const noexcept { return bytes_; }

   private:
    const InputFile& file_;
    std::span<const std::byte> bytes_;
  };

  [[noreturn]] void fail_archive(const char* what) const {
    fail(ErrorCode::malformed, where_, ": ", what, "; is the file complete?");
  }
  [[noreturn]] void fail_member(std::string_view name) const {
    fail(ErrorCode::malformed, where_, ": the member ", quoted_name(name), " does not lie inside of the archive");
  }

  void read_directory();
  void read_members(std::span<const std::byte> directory, std::uint64_t count);

  const InputFile& file_;
  std::string where_;
  std::uint64_t directory_ = 0;  // the byte at which it begins: all members end there
  std::map<std::string, Member, std::less<>> members_;
};

inline void ZipArchive::read_directory() {
  constexpr std::uint64_t end_size = 22, longest_comment = 65535, locator_size = 20, wide_end_size = 56;
  const std::uint64_t tail_size = std::min(file_.size(), end_size + longest_comment + locator_size);
  const std::uint64_t tail_begin = file_.size() - tail_size;
  const Bytes tail(file_, tail_begin, tail_size);

  // The end's record is the last one whose comment reaches the end of the file.
  std::optional<std::size_t> end;
  for (std::size_t at = 0; at + end_size <= tail_size; ++at) {
    ByteReader reader(tail.span().subspan(at), where_);
    if (reader.read<std::uint32_t>("the end") != 0x06054B50) continue;
    reader.take(16, "the end");
    if (reader.read<std::uint16_t>("the end") == reader.remaining()) end = at;
  }
  if (!end) fail_archive("no directory of a zip archive is found");
  ByteReader reader(tail.span().subspan(*end + 10), where_);
  std::uint64_t count = reader.read<std::uint16_t>("the end"), size = reader.read<std::uint32_t>("the end");
  directory_ = reader.read<std::uint32_t>("the end");
  std::uint64_t limit = tail_begin + *end;

  if (count == 0xFFFF || size == 0xFFFFFFFF || directory_ == 0xFFFFFFFF) {
    if (*end < locator_size) fail_archive("the locator of a large directory is missing");
    ByteReader locator(tail.span().subspan(*end - locator_size, locator_size), where_);
    if (locator.read<std::uint64_t>("the locator") != 0x07064B50)
      fail_archive("the locator of a large directory is missing");
    const auto at = locator.read<std::uint64_t>("the locator");
    if (limit < wide_end_size || at > limit - wide_end_size)
      fail_archive("a large directory's end lies outside of the file");
    const Bytes wide(file_, at, wide_end_size);
    ByteReader wide_end(wide.span(), where_);
    if (wide_end.read<std::uint32_t>("the end") != 0x06064B50) fail_archive("a large directory has no end");
    wide_end.take(28, "the end");
    count = wide_end.read<std::uint64_t>("the end");
    size = wide_end.read<std::uint64_t>("the end");
    directory_ = wide_end.read<std::uint64_t>("the end");
    limit = at;
  }
  if (directory_ > limit || size > limit - directory_) fail_archive("the directory lies outside of the file");
  const Bytes directory(file_, directory_, size);
  read_members(directory.span(), count);
}

inline void ZipArchive::read_members(std::span<const std::byte> directory, std::uint64_t count) {
  ByteReader reader(directory, where_);
  for (count = reader.count(count, 46, "the number of members"); count != 0; --count) {
    if (reader.read<std::uint32_t>("a member") != 0x02014B50) fail_archive("the directory is damaged");
    reader.take(4, "a member");
    Member member{};
    member.flags = reader.read<std::uint16_t>("a member");
    member.method = reader.read<std::uint16_t>("a member");
    reader.take(8, "a member");
    std::uint64_t packed = reader.read<std::uint32_t>("a member");
    member.size = reader.read<std::uint32_t>("a member");
    const auto name_size = reader.read<std::uint16_t>("a member"), extra_size = reader.read<std::uint16_t>("a member"),
               comment_size = reader.read<std::uint16_t>("a member");
    reader.take(8, "a member");
    member.head = reader.read<std::uint32_t>("a member");
    const std::string name(reader.text(name_size, "a member's name"));

    ByteReader extra(reader.take(extra_size, "a member's extra"), where_);
    while (extra.remaining() >= 4) {
      const auto kind = extra.read<std::uint16_t>("an extra"), length = extra.read<std::uint16_t>("an extra");
      ByteReader field(extra.take(length, "an extra"), where_);
      if (kind != 1) continue;  // zip64: 64 bits for each number that does not fit into 32, in this order
      for (std::uint64_t* number : {&member.size, &packed, &member.head}) {
        if (*number == 0xFFFFFFFF) *number = field.read<std::uint64_t>("a large size");
      }
    }
    reader.take(comment_size, "a member's comment");
    if (member.method == 0 && member.size != packed) fail_member(name);
    if (directory_ < 30 || member.head > directory_ - 30) fail_member(name);
    if (!members_.try_emplace(name, member).second) {
      fail(ErrorCode::malformed, where_, ": the member ", quoted_name(name), " appears twice");
    }
  }
}

}  // namespace tulle::detail
