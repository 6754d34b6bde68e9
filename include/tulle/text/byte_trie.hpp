// SPDX-License-Identifier: Apache-2.0
/// \file A trie over byte strings (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/heap_sort.hpp>

namespace tulle {

/// Finds all keys that a text begins with, byte by byte. Threads: immutable.
class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node root = 0;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  ByteTrie() : units_(2, Unit{.children = 1}) {}

  /// Takes (key, value) pairs and keeps no view of a key. Of equal keys the lowest value stays; an empty key is never
  /// found. Requires: fewer than 2^32 bytes in all keys; no value is `none`.
  explicit ByteTrie(std::vector<std::pair<std::string_view, std::uint32_t>> entries) {
    struct Range {
      std::size_t begin, end, depth;  // the entries that begin with a node's bytes, `depth` of them
    };
    heap_sort(entries);
    std::vector<Range> ranges{{0, entries.size(), 0}};
    units_.push_back({});
    for (Node node = 0; node < ranges.size(); ++node) {
      auto [at, end, depth] = ranges[node];
      units_[node].children = static_cast<Node>(units_.size());
      if (at < end && entries[at].first.size() == depth) units_[node].value = entries[at].second;
      while (at < end && entries[at].first.size() == depth) ++at;
      while (at < end) {
        const char byte = entries[at].first[depth];
        const std::size_t begin = at;
        while (at < end && entries[at].first[depth] == byte) ++at;
        ranges.push_back({begin, at, depth + 1});
        units_.push_back({.byte = static_cast<unsigned char>(byte)});
      }
    }
    units_.push_back({.children = static_cast<Node>(units_.size())});  // sentinel: end of the last children
  }

  /// The child for `byte`; `root` where there is none, because no child is the root.
  Node child(Node node, char byte) const noexcept {
    const auto end = units_.begin() + units_[node + 1].children;
    const auto wanted = static_cast<unsigned char>(byte);
    const auto found = std::lower_bound(units_.begin() + units_[node].children, end, wanted,
                                        [](const Unit& unit, unsigned char other) { return unit.byte < other; });
    return found != end && found->byte == wanted ? static_cast<Node>(found - units_.begin()) : root;
  }

  /// The value of the key that ends here; `none` where none does.
  std::uint32_t value(Node node) const noexcept { return units_[node].value; }

  struct Match {
    std::size_t length = 0;  ///< 0: none
    std::uint32_t value = none;
  };

  /// The longest key that `text` has at byte `at`.
  Match longest_at(std::string_view text, std::size_t at) const noexcept {
    Match longest;
    Node node = root;
    for (std::size_t end = at; end < text.size(); ++end) {
      node = child(node, text[end]);
      if (node == root) break;
      if (value(node) != none) longest = {end + 1 - at, value(node)};
    }
    return longest;
  }

 private:
  struct Unit {
    Node children = 0;  // they end where those of the next node begin
    std::uint32_t value = none;
    unsigned char byte = 0;  // that leads here
  };

  std::vector<Unit> units_;  // level by level, so that children are neighbours
};

}  // namespace tulle
