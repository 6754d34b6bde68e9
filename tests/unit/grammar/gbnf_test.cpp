// SPDX-License-Identifier: Apache-2.0
#include <tulle/grammar/gbnf.hpp>

#include <catch2/catch_all.hpp>

using tulle::explicit_gbnf;

TEST_CASE("alternatives that are left empty are written out", "[grammar]") {
  CHECK(explicit_gbnf("ws ::= | \" \" ws") == "ws ::= \"\" | \" \" ws");
  CHECK(explicit_gbnf("root ::= \"a\" |") == "root ::= \"a\" | \"\"");
  CHECK(explicit_gbnf("root ::= (| \"a\") \"b\"") == "root ::= ( \"\"| \"a\") \"b\"");
  CHECK(explicit_gbnf("a ::= \"x\" | \nroot ::= a") == "a ::= \"x\" | \"\" \nroot ::= a");
}

TEST_CASE("a dot is any character, but not in texts, classes and comments", "[grammar]") {
  CHECK(explicit_gbnf("root ::= .+ \"x\"") == "root ::= [\\u0000-\\U0010FFFF]+ \"x\"");
  for (const char* same : {"root ::= \".|\" [.)|] # a dot. |", "root ::= \"\\\".\" [\\].] (a | b)* c{0,20}", ""}) {
    CHECK(explicit_gbnf(same) == same);
  }
  CHECK(explicit_gbnf("root ::= \"open") == "root ::= \"open");
  for (const char* nothing : {"root ::=", "a ::= \nroot ::= a"}) CHECK(explicit_gbnf(nothing) == nothing);
}
