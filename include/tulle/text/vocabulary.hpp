// SPDX-License-Identifier: Apache-2.0
/// \file The two-way map between token ids and their contents (L2).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

/// Ids may have holes; a hole has no content. Movable, not copyable. Threads: immutable once filled.
class Vocabulary {
 public:
  /// Far above every real vocabulary; it limits the memory that an id in a broken file can cause to be allocated.
  static constexpr std::size_t largest_size = std::size_t{1} << 24;

  Vocabulary() { direct_.fill(-1); }

  /// Takes (content, id) pairs. Empty contents are holes; of equal contents the first keeps its id.
  /// Errors: malformed for an id that is negative, too large, or given to two contents.
  Vocabulary(const std::vector<std::pair<std::string, Token>>& entries, std::string_view where) : Vocabulary() {
    std::vector<const std::string*> contents;  // by id; null: a hole
    for (const auto& [content, id] : entries) {
      if (id < 0 || static_cast<std::size_t>(id) >= largest_size) {
        fail(ErrorCode::malformed, where, ": token \"", content, "\" has the impossible id ", id);
      }
      if (static_cast<std::size_t>(id) >= contents.size()) contents.resize(static_cast<std::size_t>(id) + 1);
      const std::string*& place = contents[static_cast<std::size_t>(id)];
      if (content.empty() || (place != nullptr && content == *place)) continue;
      if (place != nullptr) fail(ErrorCode::malformed, where, ": \"", *place, "\" and \"", content, "\" share id ", id);
      place = &content;
    }
    write(contents, where);
    ids_.assign(std::bit_ceil(2 * entries.size() + 1), -1);
    for (const auto& [content, id] : entries) {
      Token& slot = ids_[place_of(content)];
      if (content.empty() || slot >= 0) continue;
      slot = id;
      const Utf8Step step = decode_utf8(content, 0);
      if (step.length == content.size() && step.code_point < direct_.size()) direct_[step.code_point] = id;
    }
  }

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  /// The largest id + 1.
  std::size_t size() const noexcept { return begins_.size() - 1; }

  /// Empty for holes and for ids outside. The view outlives moves of the vocabulary.
  std::string_view content(Token id) const noexcept {
    if (id < 0 || static_cast<std::size_t>(id) >= size()) return {};
    const std::uint32_t* begin = &begins_[static_cast<std::size_t>(id)];
    return {bytes_.data() + begin[0], begin[1] - begin[0]};
  }

  std::optional<Token> find(std::string_view content) const noexcept {
    const Token id = ids_[place_of(content)];
    return id < 0 ? std::nullopt : std::optional(id);
  }

  /// `find` of one character that begins at byte `at`; `length` is its bytes.
  std::optional<Token> find_character(std::string_view text, std::size_t at, const Utf8Step& step) const {
    if (step.code_point >= direct_.size()) return find(text.substr(at, step.length));
    const Token id = direct_[step.code_point];
    return id < 0 ? std::nullopt : std::optional(id);
  }

 private:
  void write(const std::vector<const std::string*>& contents, std::string_view where) {
    std::size_t size = 0;
    for (const std::string* content : contents) size += content == nullptr ? 0 : content->size();
    if (size > std::numeric_limits<std::uint32_t>::max()) fail(ErrorCode::malformed, where, ": 4 GiB of tokens");
    bytes_.reserve(size);
    begins_.reserve(contents.size() + 1);
    for (const std::string* content : contents) {
      if (content != nullptr) bytes_.insert(bytes_.end(), content->begin(), content->end());
      begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    }
  }

  /// Where the id of `wanted` is or would be.
  std::size_t place_of(std::string_view wanted) const noexcept {
    std::size_t at = std::hash<std::string_view>()(wanted) & (ids_.size() - 1);
    while (ids_[at] >= 0 && content(ids_[at]) != wanted) at = (at + 1) & (ids_.size() - 1);
    return at;
  }

  std::vector<char> bytes_;                  // the contents one after the other, by id
  std::vector<std::uint32_t> begins_ = {0};  // in bytes_; the end of the last one follows
  std::vector<Token> ids_ = {-1};            // hash table with open addressing, at most half full; -1: none
  std::array<Token, 0x180> direct_;          // of single characters; holds the whole byte alphabet
};

}  // namespace tulle
