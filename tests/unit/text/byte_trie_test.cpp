// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/byte_trie.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;

TEST_CASE("the longest key at a place is found", "[text][byte_trie]") {
  const ByteTrie trie({{"ab", 1}, {"abcd", 2}, {"b", 3}, {"\xFF\x80", 4}, {std::string_view("\0a", 2), 5}});
  const auto match = [&](std::string_view text, std::size_t at = 0) { return trie.longest_at(text, at); };
  CHECK((match("abc").length == 2 && match("abc").value == 1));
  CHECK((match("abcde").length == 4 && match("abcde").value == 2));
  CHECK((match("xab", 1).value == 1 && match("xab", 2).value == 3));
  CHECK((match("\xFF\x80").value == 4 && match(std::string_view("\0a", 2)).value == 5));
  for (const char* none : {"", "a", "x", "\xFF"}) CHECK(match(none).length == 0);
}

TEST_CASE("nodes are walked byte by byte", "[text][byte_trie]") {
  const ByteTrie trie({{"ab", 7}, {"ac", 8}});
  const ByteTrie::Node node = trie.child(ByteTrie::root, 'a');
  CHECK(node != ByteTrie::root);
  CHECK(trie.value(node) == ByteTrie::none);
  CHECK(trie.value(trie.child(node, 'b')) == 7);
  CHECK(trie.value(trie.child(node, 'c')) == 8);
  CHECK(trie.child(node, 'd') == ByteTrie::root);
  CHECK(trie.child(trie.child(node, 'c'), 'a') == ByteTrie::root);
}

TEST_CASE("of equal keys the lowest value stays, and empty keys are never found", "[text][byte_trie]") {
  const ByteTrie trie({{"a", 3}, {"a", 1}, {"", 0}});
  CHECK(trie.longest_at("aa", 0).value == 1);
  CHECK(trie.longest_at("b", 0).length == 0);
  CHECK(ByteTrie().longest_at("a", 0).length == 0);
  CHECK(ByteTrie(std::vector<std::pair<std::string_view, std::uint32_t>>()).longest_at("a", 0).length == 0);
}
