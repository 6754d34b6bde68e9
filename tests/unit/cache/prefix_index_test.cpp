// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/prefix_index.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <tulle/core/rng.hpp>

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;

std::vector<std::uint32_t> take_all_unused(PrefixIndex& index) {
  std::vector<std::uint32_t> blocks;
  while (index.unused() != 0) {
    blocks.push_back(index.oldest_unused());
    index.erase(blocks.back());
  }
  return blocks;
}

}  // namespace

TEST_CASE("a block is found by its own tokens and those before it", "[cache][prefix_index]") {
  PrefixIndex index(8, 2);
  CHECK(index.find(0, Tokens{1, 2}) == PrefixIndex::none);
  index.insert(3, 0, Tokens{1, 2});
  index.insert(5, index.serial(3), Tokens{1, 2});
  CHECK(index.contains(3));
  CHECK_FALSE(index.contains(4));
  CHECK(index.find(0, Tokens{1, 2}) == 3);
  CHECK(index.find(index.serial(3), Tokens{1, 2}) == 5);
  CHECK(index.find(index.serial(5), Tokens{1, 2}) == PrefixIndex::none);
  CHECK(index.find(0, Tokens{2, 1}) == PrefixIndex::none);
}

TEST_CASE("no key leads to what is behind an erased block", "[cache][prefix_index]") {
  PrefixIndex index(8, 2);
  index.insert(3, 0, Tokens{1, 2});
  const std::uint64_t before = index.serial(3);
  index.insert(5, before, Tokens{3, 4});
  index.erase(3);
  index.erase(3);
  CHECK_FALSE(index.contains(3));
  CHECK(index.find(0, Tokens{1, 2}) == PrefixIndex::none);
  index.insert(3, 0, Tokens{1, 2});
  CHECK(index.serial(3) != before);
  CHECK(index.find(index.serial(3), Tokens{3, 4}) == PrefixIndex::none);
  CHECK(index.contains(5));
}

TEST_CASE("an index of no blocks finds nothing", "[cache][prefix_index]") {
  PrefixIndex index;
  CHECK(index.empty());
  CHECK(index.find(0, Tokens{1, 2}) == PrefixIndex::none);
  index.erase(0);
  CHECK_FALSE(index.contains(0));
  CHECK(index.unused() == 0);
}

TEST_CASE("unused blocks are in the order in which they were last used", "[cache][prefix_index]") {
  PrefixIndex index(5, 1);
  for (std::uint32_t block = 0; block < 5; ++block) index.insert(block, 0, Tokens{static_cast<Token>(block)});
  for (const std::uint32_t block : {2, 0, 4, 1, 3}) index.set_unused(block);
  CHECK(index.unused() == 5);
  for (const std::uint32_t block : {4, 2, 3}) index.set_used(block);  // from the middle and from both ends
  CHECK(index.unused() == 2);
  index.set_unused(2);
  index.erase(1);
  CHECK(take_all_unused(index) == std::vector<std::uint32_t>{0, 2});
  index.set_unused(3);
  index.set_unused(4);
  CHECK(take_all_unused(index) == std::vector<std::uint32_t>{3, 4});
}

TEST_CASE("blocks come and go as in a map of their keys", "[cache][prefix_index]") {
  constexpr std::uint32_t blocks = 40;  // more than half of the buckets: many share one
  PrefixIndex index(blocks, 3);
  std::map<std::pair<std::uint64_t, Tokens>, std::uint32_t> reference;
  std::size_t found = 0, missed = 0;
  for (std::uint64_t round = 0; round < 5000; ++round) {
    const auto draw = [&](std::uint32_t what, std::uint32_t below) {
      return static_cast<std::uint32_t>(uniform(7, round, what, 0) * below);
    };
    const std::uint32_t block = draw(0, blocks);
    const auto first = static_cast<Token>(draw(2, 3)), last = static_cast<Token>(draw(3, 6));
    const std::pair<std::uint64_t, Tokens> key{draw(1, 4), {first, 50'000, last}};
    const auto known = reference.find(key);
    (known == reference.end() ? missed : found) += 1;
    REQUIRE(index.find(key.first, key.second) == (known == reference.end() ? PrefixIndex::none : known->second));
    if (index.contains(block)) {
      index.erase(block);
      std::erase_if(reference, [&](const auto& each) { return each.second == block; });
    } else if (known == reference.end()) {
      index.insert(block, key.first, key.second);
      reference[key] = block;
    }
  }
  CHECK(found > 500);
  CHECK(missed > 500);
}
