// SPDX-License-Identifier: Apache-2.0
/// \file The two-way map between token ids and their contents (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
  Vocabulary(std::vector<std::pair<std::string, Token>> entries, std::string_view where) : Vocabulary() {
    std::size_t size = 0;
    for (const auto& [content, id] : entries) {
      if (id < 0 || static_cast<std::size_t>(id) >= largest_size) {
        fail(ErrorCode::malformed, where, ": token \"", content, "\" has the impossible id ", id);
      }
      size = std::max(size, static_cast<std::size_t>(id) + 1);
    }
    contents_.resize(size);
    ids_.reserve(entries.size());
    for (auto& [content, id] : entries) {
      std::string& place = contents_[static_cast<std::size_t>(id)];
      if (content.empty() || content == place) continue;
      if (!place.empty()) fail(ErrorCode::malformed, where, ": \"", place, "\" and \"", content, "\" share id ", id);
      place = std::move(content);
      ids_.try_emplace(place, id);
      const Utf8Step step = decode_utf8(place, 0);
      if (step.length == place.size() && step.code_point < direct_.size()) direct_[step.code_point] = ids_.at(place);
    }
  }

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  /// The largest id + 1.
  std::size_t size() const noexcept { return contents_.size(); }

  /// Empty for holes and for ids outside.
  std::string_view content(Token id) const noexcept {
    if (id < 0 || static_cast<std::size_t>(id) >= contents_.size()) return {};
    return contents_[static_cast<std::size_t>(id)];
  }

  std::optional<Token> find(std::string_view content) const {
    const auto found = ids_.find(content);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  /// `find` of one character that begins at byte `at`; `length` is its bytes.
  std::optional<Token> find_character(std::string_view text, std::size_t at, const Utf8Step& step) const {
    if (step.code_point >= direct_.size()) return find(text.substr(at, step.length));
    const Token id = direct_[step.code_point];
    return id < 0 ? std::nullopt : std::optional(id);
  }

 private:
  std::vector<std::string> contents_;  // never resized again: ids_ refers to it
  std::unordered_map<std::string_view, Token> ids_;
  std::array<Token, 0x180> direct_;  // of single characters; holds the whole byte alphabet
};

}  // namespace tulle
