// SPDX-License-Identifier: Apache-2.0
/// \file Byte-pair encoding of one word (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/heap_sort.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/pair_table.hpp>
#include <tulle/text/unknown_characters.hpp>
#include <tulle/text/utf8.hpp>
#include <tulle/text/vocabulary.hpp>

namespace tulle {

/// Options for characters and words, besides the merges.
struct BytePairOptions : UnknownOptions {
  bool ignore_merges = false;  ///< a word that is in the vocabulary is taken whole
};

/// Merges the adjacent pair of lowest rank, leftmost first, until none is left.
/// Complexity: O(n log n) in the characters of a word: a heap over a linked list of symbols. A long word is first cut
/// where no merge can reach across, so that n is that of a part.
/// Threads: immutable; each thread brings its own `Scratch`.
class BytePairEncoder {
 public:
  /// Two contents and the rank at which they merge.
  struct Merge {
    std::string left, right;
    std::uint32_t rank;
  };

  class Scratch {
    friend class BytePairEncoder;
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct Symbol {
      Token id;
      std::uint32_t previous, next;  // none at the ends
      bool is_character;             // in the vocabulary; else it stands for a byte or an unknown character
    };
    struct Candidate {
      std::uint32_t rank, left;
      Token merged;
    };
    std::vector<Symbol> symbols_;  // a merged-away symbol has id -1
    std::vector<Candidate> heap_;
  };

  /// A word may have at most this many bytes.
  static constexpr std::size_t longest_word = std::numeric_limits<std::uint32_t>::max() - 1;

  /// Errors: malformed when a merge names a token that the vocabulary lacks.
  BytePairEncoder(const Vocabulary& vocabulary, const std::vector<Merge>& merges, const BytePairOptions& options,
                  std::string_view where)
      : unknown_(vocabulary, options), ignore_merges_(options.ignore_merges), merges_(merges.size()), joints_(0) {
    std::string joined;
    std::vector<std::pair<Token, Token>> joints;
    for (const Merge& merge : merges) {
      const std::optional<Token> last = vocabulary.find(last_character(merge.left));
      const std::optional<Token> first = vocabulary.find(first_character(merge.right));
      if (last && first) joints.emplace_back(*last, *first);
      joined.assign(merge.left).append(merge.right);
      merges_.insert(id_of(vocabulary, merge.left, where), id_of(vocabulary, merge.right, where),
                     {merge.rank, id_of(vocabulary, joined, where)});
    }
    heap_sort(joints);
    joints.erase(std::unique(joints.begin(), joints.end()), joints.end());
    joints_ = PairTable(joints.size());
    for (const auto& [left, right] : joints) joints_.insert(left, right, {});
  }

  /// Appends the tokens of `word`. Requires: valid UTF-8 of at most `longest_word` bytes.
  void encode(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch, std::vector<Token>& tokens) const {
    if (ignore_merges_) {
      if (const std::optional<Token> whole = vocabulary.find(word)) {
        tokens.push_back(*whole);
        return;
      }
    }
    split_characters(vocabulary, word, scratch);
    const auto size = static_cast<std::uint32_t>(scratch.symbols_.size());
    std::uint32_t begin = 0;
    for (std::uint32_t end = 1; end < size && size > longest_uncut; ++end) {
      if (!is_cut(scratch, end)) continue;
      scratch.symbols_[end - 1].next = scratch.symbols_[end].previous = Scratch::none;
      merge_all(scratch, begin, end);
      begin = end;
    }
    merge_all(scratch, begin, size);
    for (const Scratch::Symbol& symbol : scratch.symbols_) {
      if (symbol.id >= 0) tokens.push_back(symbol.id);
    }
  }

 private:
  static Token id_of(const Vocabulary& vocabulary, std::string_view content, std::string_view where) {
    const std::optional<Token> id = vocabulary.find(content);
    if (!id)
      fail(ErrorCode::malformed, where, ": a merge needs the token \"", content, "\", which the vocabulary lacks");
    return *id;
  }

  void split_characters(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch) const {
    auto& symbols = scratch.symbols_;
    symbols.clear();
    bool is_character = true;
    const auto push = [&symbols, &is_character](Token id) {
      const auto index = static_cast<std::uint32_t>(symbols.size());
      symbols.push_back({id, index == 0 ? Scratch::none : index - 1, index + 1, is_character});
    };
    bool is_after_unknown = false;
    for (std::size_t at = 0; at < word.size();) {
      const Utf8Step step = decode_utf8(word, at);
      const std::optional<Token> id = vocabulary.find_character(word, at, step);
      is_character = id.has_value();
      if (id) {
        push(*id);
        is_after_unknown = false;
      } else {
        unknown_.write(word.substr(at, step.length), is_after_unknown, push);
      }
      at += step.length;
    }
    if (!symbols.empty()) symbols.back().next = Scratch::none;
  }

  /// True where no merge joins symbols on both sides of `at`: its left content would end and its right one begin with
  /// the characters there, and no merge has such contents.
  bool is_cut(const Scratch& scratch, std::uint32_t at) const {
    const Scratch::Symbol &left = scratch.symbols_[at - 1], &right = scratch.symbols_[at];
    return left.is_character && right.is_character && joints_.find(left.id, right.id) == nullptr;
  }

  static std::string_view first_character(std::string_view text) {
    return text.substr(0, text.empty() ? 0 : decode_utf8(text, 0).length);
  }

  static std::string_view last_character(std::string_view text) noexcept {
    std::size_t at = text.size();
    while (at > 0 && (static_cast<unsigned char>(text[--at]) & 0xC0) == 0x80) {
    }
    return text.substr(at);
  }

  /// Merges the symbols from `begin` to `end`, which are linked among themselves only.
  void merge_all(Scratch& scratch, std::uint32_t begin, std::uint32_t end) const {
    auto& symbols = scratch.symbols_;
    auto& heap = scratch.heap_;
    const auto is_later = [](const Scratch::Candidate& a, const Scratch::Candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    };
    const auto propose = [&](std::uint32_t left) {
      if (left == Scratch::none || symbols[left].next == Scratch::none) return false;
      const PairTable::Entry* merge = merges_.find(symbols[left].id, symbols[symbols[left].next].id);
      if (merge == nullptr) return false;
      heap.push_back({merge->rank, left, merge->merged});
      return true;
    };
    heap.clear();
    for (std::uint32_t left = begin; left < end; ++left) propose(left);
    std::make_heap(heap.begin(), heap.end(), is_later);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), is_later);
      const Scratch::Candidate best = heap.back();
      heap.pop_back();
      Scratch::Symbol& left = symbols[best.left];
      if (left.id < 0 || left.next == Scratch::none) continue;
      // A candidate is stale when one of its symbols has merged with another since; then the pair is another one.
      const PairTable::Entry* merge = merges_.find(left.id, symbols[left.next].id);
      if (merge == nullptr || merge->merged != best.merged) continue;
      Scratch::Symbol& right = symbols[left.next];
      left.id = best.merged;
      left.next = right.next;
      right.id = -1;
      if (left.next != Scratch::none) symbols[left.next].previous = best.left;
      if (propose(left.previous)) std::push_heap(heap.begin(), heap.end(), is_later);
      if (propose(best.left)) std::push_heap(heap.begin(), heap.end(), is_later);
    }
  }

  static constexpr std::uint32_t longest_uncut = 64;  // symbols: shorter words gain nothing

  UnknownCharacters unknown_;
  bool ignore_merges_;
  PairTable merges_;
  PairTable joints_;  // characters that a merge can join
};

}  // namespace tulle
