// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/ast.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

TEST_CASE("a tree owns its parts and moves", "[text][jinja_ast]") {
  auto leaf = std::make_unique<Expression>(Expression{3, Constant{Value("x")}});
  Body body;
  body.push_back({2, Print{std::move(leaf)}});
  Body moved = std::move(body);
  const auto& print = std::get<Print>(moved.front().node);
  CHECK(print.value->line == 3);
  CHECK(std::get<Constant>(print.value->node).value.text() == "x");
}
