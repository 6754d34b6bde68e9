// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/suffix_automaton.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;

bool occurs(std::span<const Token> part, std::span<const Token> text) {
  return part.empty() || !std::ranges::search(text, part).empty();
}

/// The length of the longest end of `text` that begins earlier, too.
std::size_t longest_repeated_end(std::span<const Token> text) {
  std::size_t length = 0;
  while (length + 1 < text.size() && occurs(text.last(length + 1), text.first(text.size() - 1))) ++length;
  return length;
}

}  // namespace

TEST_CASE("the longest repeated end of a text is found as it grows", "[generate][draft]") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    testing::Numbers numbers(seed);
    SuffixAutomaton automaton;
    Tokens text;
    for (int i = 0; i < 120; ++i) {
      text.push_back(static_cast<Token>(numbers.below(seed % 4 + 1)));
      automaton.push(text.back());
      const SuffixAutomaton::Match match = automaton.repeated();
      const std::span<const Token> all = text;
      REQUIRE(match.length == longest_repeated_end(all));
      if (match.length != 0) {
        REQUIRE(match.next < all.size());
        REQUIRE(match.length <= match.next);
        CHECK(std::ranges::equal(all.subspan(match.next - match.length, match.length), all.last(match.length)));
      }
    }
    CHECK(std::ranges::equal(automaton.tokens(), text));
  }
}

TEST_CASE("of the places of a repeated end the last that was looked up is given", "[generate][draft]") {
  SuffixAutomaton automaton;
  for (const Token token : {1, 2, 3, 9, 1, 2, 4, 9, 1, 2}) automaton.push(token);
  CHECK(automaton.repeated().length == 3);  // 9 1 2
  for (const Token token : {8, 1, 2}) automaton.push(token);
  CHECK(automaton.repeated().length == 2);
  CHECK(automaton.repeated().next >= 6);
}

TEST_CASE("another text is followed through the places where its end occurs", "[generate][draft]") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    testing::Numbers numbers(seed);
    SuffixAutomaton automaton;
    Tokens text;
    for (int i = 0; i < 80; ++i) text.push_back(static_cast<Token>(numbers.below(3)));
    for (const Token token : text) automaton.push(token);
    SuffixAutomaton::Walk walk;
    Tokens other;
    for (int i = 0; i < 80; ++i) {
      other.push_back(static_cast<Token>(numbers.below(4)));  // 3 is in no text
      automaton.follow(walk, other.back());
      const SuffixAutomaton::Match match = automaton.match(walk);
      const std::span<const Token> all = other;
      CHECK(occurs(all.last(match.length), text));
      if (match.length < all.size()) CHECK_FALSE(occurs(all.last(match.length + 1), text));
      if (match.length == 0) continue;
      CHECK(std::ranges::equal(std::span<const Token>(text).subspan(match.next - match.length, match.length),
                               all.last(match.length)));
    }
  }
}

TEST_CASE("an automaton that was cleared begins anew", "[generate][draft]") {
  SuffixAutomaton automaton;
  for (const Token token : {1, 1, 1}) automaton.push(token);
  CHECK(automaton.repeated().length == 2);
  automaton.clear();
  CHECK(automaton.tokens().empty());
  CHECK(automaton.repeated().length == 0);
  automaton.push(1);
  CHECK(automaton.repeated().length == 0);
}
