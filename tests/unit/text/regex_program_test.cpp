// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/regex_program.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::detail;
using Op = RegexInstruction::Op;

namespace {

/// Consumes one code point of set `set`.
RegexFragment one(std::int32_t set) {
  return {{Op::consume, set, 0}};
}

}  // namespace

TEST_CASE("an alternation prefers its first branch and both branches end at the same place", "[text][regex_program]") {
  const RegexFragment code = alternate(one(1), one(2));
  REQUIRE(length(code) == 4);
  CHECK(code[0].op == Op::fork);
  CHECK(code[0].a == 1);                                    // the first branch follows
  CHECK(code[static_cast<std::size_t>(code[0].b)].a == 2);  // the second is where the fork's other way leads
  CHECK(code[2].op == Op::jump);
  CHECK(2 + code[2].a == length(code));  // the first branch jumps behind the second
}

TEST_CASE("a greedy option wants its body first, a lazy one wants to skip it", "[text][regex_program]") {
  const RegexFragment greedy = optional_of(one(3), false), lazy = optional_of(one(3), true);
  REQUIRE(greedy[0].op == Op::fork);
  REQUIRE(lazy[0].op == Op::fork);
  CHECK(greedy[0].a == 1);
  CHECK(lazy[0].b == 1);
  CHECK(greedy[0].b == length(greedy));
  CHECK(lazy[0].a == length(lazy));
}

TEST_CASE("append puts one fragment behind another", "[text][regex_program]") {
  RegexFragment code = one(1);
  append(code, one(2));
  REQUIRE(length(code) == 2);
  CHECK(code[1].a == 2);
}
