// SPDX-License-Identifier: Apache-2.0
/// \file Where the end of a growing list of tokens has occurred before (L4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// The suffix automaton of a list of tokens: its paths from state 0 spell the parts of the list, each once. A state is
/// the set of parts that end at the same places; its link leads to the longest suffix of them that ends at more.
/// Blumer et al., "The smallest automaton recognizing the subwords of a text", Theoretical Computer Science 40, 1985.
/// A token costs O(1) amortised, and at most two states and three edges. Less than 2^30 tokens.
class SuffixAutomaton {
 public:
  SuffixAutomaton() { clear(); }

  void clear() {
    tokens_.clear();
    states_.assign(1, {});
    edges_.clear();
    table_.assign(64, 0);
    last_ = 0;
    repeated_ = {};
  }

  std::span<const Token> tokens() const noexcept { return tokens_; }

  /// A part of the list: its length, and the index of the token behind one place where it occurs.
  struct Match {
    std::size_t length = 0, next = 0;
  };

  /// The longest suffix of the list that also occurs earlier. Of the places that were looked up before, the last.
  const Match& repeated() const noexcept { return repeated_; }

  void push(Token token) {
    const auto end = static_cast<std::uint32_t>(tokens_.size());
    tokens_.push_back(token);
    const std::uint32_t state = add_state({states_[last_].length + 1, 0, end, none});
    std::uint32_t from = last_;
    last_ = state;
    for (; from != none && find(from, token) == none; from = states_[from].link) add_edge(from, token, state);
    if (from != none) states_[state].link = split(from, token);
    State& earlier = states_[states_[state].link];
    repeated_ = {earlier.length, earlier.end + std::size_t{1}};
    earlier.end = end;
  }

  /// The longest suffix of another list that occurs in this one.
  struct Walk {
    std::uint32_t state = 0, length = 0;
  };
  Match match(const Walk& walk) const noexcept { return {walk.length, states_[walk.state].end + std::size_t{1}}; }

  /// Goes on with the next token of the other list.
  void follow(Walk& walk, Token token) const noexcept {
    std::uint32_t edge = find(walk.state, token);
    while (edge == none && walk.state != 0) {
      walk.state = states_[walk.state].link;
      walk.length = states_[walk.state].length;
      edge = find(walk.state, token);
    }
    if (edge == none) return;
    walk.state = edges_[edge].to;
    ++walk.length;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct State {
    std::uint32_t length = 0;  // of the longest part
    std::uint32_t link = none;
    std::uint32_t end = 0;       // a place where the parts end
    std::uint32_t edges = none;  // the first
  };
  struct Edge {
    std::uint32_t from, to, next;  // next: of the same state
    Token token;
  };

  std::uint32_t add_state(const State& state) {
    states_.push_back(state);
    return static_cast<std::uint32_t>(states_.size() - 1);
  }

  /// The state that holds the part of `from` and `token` as its longest.
  std::uint32_t split(std::uint32_t from, Token token) {
    const std::uint32_t to = edges_[find(from, token)].to;
    if (states_[from].length + 1 == states_[to].length) return to;
    const std::uint32_t clone = add_state({states_[from].length + 1, states_[to].link, states_[to].end, none});
    for (std::uint32_t edge = states_[to].edges; edge != none; edge = edges_[edge].next) {
      add_edge(clone, edges_[edge].token, edges_[edge].to);
    }
    for (; from != none; from = states_[from].link) {
      Edge& edge = edges_[find(from, token)];
      if (edge.to != to) break;
      edge.to = clone;
    }
    states_[to].link = clone;
    return clone;
  }

  void add_edge(std::uint32_t from, Token token, std::uint32_t to) {
    edges_.push_back({from, to, states_[from].edges, token});
    states_[from].edges = static_cast<std::uint32_t>(edges_.size() - 1);
    if (2 * edges_.size() <= table_.size()) return enter(states_[from].edges);
    table_.assign(2 * table_.size(), 0);
    for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) enter(edge);
  }

  /// A hash table with open addressing: the numbers of edges, from 1 on, by state and token.
  void enter(std::uint32_t edge) noexcept {
    std::size_t place = hash(edges_[edge].from, edges_[edge].token);
    while (table_[place] != 0) place = (place + 1) & (table_.size() - 1);
    table_[place] = edge + 1;
  }
  std::uint32_t find(std::uint32_t state, Token token) const noexcept {
    for (std::size_t place = hash(state, token); table_[place] != 0; place = (place + 1) & (table_.size() - 1)) {
      const Edge& edge = edges_[table_[place] - 1];
      if (edge.from == state && edge.token == token) return table_[place] - 1;
    }
    return none;
  }
  std::size_t hash(std::uint32_t state, Token token) const noexcept {
    const std::uint64_t key = (std::uint64_t{state} << 32) | static_cast<std::uint32_t>(token);
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & (table_.size() - 1);
  }

  std::vector<Token> tokens_;
  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> table_;
  std::uint32_t last_ = 0;
  Match repeated_;
};

}  // namespace tulle
