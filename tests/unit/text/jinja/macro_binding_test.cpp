// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/macro_binding.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

namespace {

MacroDefinition macro_of_a_and_b() {
  MacroDefinition macro;
  macro.name = std::string("m");
  macro.parameters.emplace_back("a", nullptr);
  macro.parameters.emplace_back("b", std::make_unique<Expression>(Expression{1, Constant{Value("default")}}));
  return macro;
}

void bind(const MacroDefinition& macro, const Arguments& arguments, Scope& scope) {
  bind_parameters(macro, arguments, scope,
                  [](const Expression& fallback) { return std::get<Constant>(fallback.node).value; });
}

}  // namespace

TEST_CASE("parameters are bound by position, by name and by default", "[text][jinja_macro_binding]") {
  const MacroDefinition macro = macro_of_a_and_b();
  Scope scope(nullptr);
  bind(macro, {{}, {{"a", Value("x")}}}, scope);
  CHECK(scope.find("a")->text() == "x");
  CHECK(scope.find("b")->text() == "default");
  bind(macro, {{}, {}}, scope);
  CHECK(scope.find("a")->why_undefined() == "parameter 'a' was not provided");
}

TEST_CASE("arguments that a macro does not take are refused", "[text][jinja_macro_binding]") {
  const MacroDefinition macro = macro_of_a_and_b();
  Scope scope(nullptr);
  CHECK_THROWS_WITH(bind(macro, {{Value(), Value(), Value()}, {}}, scope),
                    "macro 'm' takes at most 2 arguments, 3 were given");
  CHECK_THROWS_WITH(bind(macro, {{}, {{"q", Value()}}}, scope), "macro 'm' takes no argument named 'q'");
  CHECK_THROWS_WITH(bind(macro, {{Value("1")}, {{"a", Value()}}}, scope), "macro 'm' got two values for 'a'");
}
