// SPDX-License-Identifier: Apache-2.0
/// \file The pieces of highest total score, as sentencepiece's unigram models choose them (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/text/byte_trie.hpp>
#include <tulle/text/unknown_characters.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

/// The best path through all ways to cut a text into pieces (Viterbi). Sums are rounded as in the library's version
/// 0.1.97, so that ties give the same result. Complexity: O(bytes of text * longest piece).
/// Threads: immutable; each thread brings its own `Scratch`.
class UnigramEncoder {
 public:
  struct Piece {
    std::string_view content;
    Token id;
    float score;
    bool is_user_defined = false;  ///< taken before all others: its cost is nearly 0
  };

  class Scratch {
    friend class UnigramEncoder;
    static constexpr std::uint32_t unreached = std::numeric_limits<std::uint32_t>::max();
    /// The best path to a byte: its score, its last piece, and where that begins.
    struct Arrival {
      float score = 0;
      std::uint32_t begin = unreached;
      Token id = -1;
    };
    std::vector<Arrival> best_;
    std::vector<std::uint32_t> ends_;
  };

  /// Requires: pieces in the order of their ids. Equal contents belong to the first.
  UnigramEncoder(const std::vector<Piece>& pieces, UnknownCharacters unknown) : unknown_(std::move(unknown)) {
    float lowest = std::numeric_limits<float>::max(), highest = std::numeric_limits<float>::min();
    for (const Piece& piece : pieces) {
      if (piece.is_user_defined) continue;
      lowest = std::min(lowest, piece.score);
      highest = std::max(highest, piece.score);
    }
    unknown_score_ = lowest - 10.0f;
    std::vector<std::pair<std::string_view, std::uint32_t>> entries;
    for (const Piece& piece : pieces) {
      entries.emplace_back(piece.content, static_cast<std::uint32_t>(places_.size()));
      const float length = static_cast<float>(piece.content.size());
      places_.push_back({piece.is_user_defined ? length * highest - 0.1 : piece.score, piece.id});
    }
    trie_ = ByteTrie(std::move(entries));
  }

  /// Appends the tokens of `text`. Requires: at most 2^32 - 2 bytes.
  void encode(std::string_view text, Scratch& scratch, std::vector<Token>& tokens) const {
    find_best(text, scratch.best_);
    auto& ends = scratch.ends_;
    ends.clear();
    for (auto end = static_cast<std::uint32_t>(text.size()); end > 0; end = scratch.best_[end].begin) {
      ends.push_back(end);
    }
    bool is_after_unknown = false;
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
      const Scratch::Arrival& arrival = scratch.best_[*end];
      if (arrival.id < 0) {
        unknown_.write(text.substr(arrival.begin, *end - arrival.begin), is_after_unknown,
                       [&tokens](Token token) { tokens.push_back(token); });
      } else {
        tokens.push_back(arrival.id);
        is_after_unknown = false;
      }
    }
  }

 private:
  struct Place {
    double score;
    Token id;
  };

  /// `best[i]` becomes the best path to byte i. Every character can be unknown, so the end is always reached.
  void find_best(std::string_view text, std::vector<Scratch::Arrival>& best) const {
    best.assign(text.size() + 1, {});
    for (std::size_t at = 0; at < text.size();) {
      const float before = best[at].score;
      const auto arrive = [&best, at](std::size_t end, double score, Token id) {
        Scratch::Arrival& arrival = best[end];
        if (arrival.begin != Scratch::unreached && !(score > arrival.score)) return;
        arrival = {static_cast<float>(score), static_cast<std::uint32_t>(at), id};
      };
      const std::size_t next = at + decode_utf8(text, at).length;
      bool is_known = false;
      ByteTrie::Node node = ByteTrie::root;
      for (std::size_t end = at; end < text.size();) {
        node = trie_.child(node, text[end++]);
        if (node == ByteTrie::root) break;
        if (trie_.value(node) == ByteTrie::none) continue;
        const Place& place = places_[trie_.value(node)];
        arrive(end, place.score + before, place.id);
        if (end == next) is_known = true;
      }
      if (!is_known) arrive(next, unknown_score_ + before, -1);
      at = next;
    }
  }

  UnknownCharacters unknown_;
  ByteTrie trie_;
  std::vector<Place> places_;  // by the trie's values
  float unknown_score_;
};

}  // namespace tulle
