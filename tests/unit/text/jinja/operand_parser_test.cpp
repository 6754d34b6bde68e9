// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/operand_parser.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/text/jinja/expression_parser.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

/// Parses with the operators, as operands contain whole expressions.
ExpressionPtr parsed(const std::string& source) {
  TokenCursor cursor(Lexer("{{ " + source + " }}").run());
  cursor.take();
  return ExpressionParser(cursor).parse_tuple();
}

}  // namespace

TEST_CASE("literals become constants", "[text][jinja_operand_parser]") {
  CHECK(std::get<Constant>(parsed("'a' \"b\"")->node).value.text() == "ab");
  CHECK(std::get<Constant>(parsed("10.5E1")->node).value.real() == 105.0);
  CHECK(std::get<Constant>(parsed("True")->node).value.boolean());
  CHECK(std::get<Constant>(parsed("none")->node).value.is(Kind::none));
  CHECK(std::get<ListLiteral>(parsed("()")->node).flavor == Flavor::tuple);
}

TEST_CASE("every form of argument is known", "[text][jinja_operand_parser]") {
  using Form = Argument::Form;
  const ExpressionPtr expression = parsed("f(1, k=2, *a, **b,)");
  const ArgumentList& arguments = std::get<Call>(expression->node).arguments;
  REQUIRE(arguments.size() == 4);
  CHECK(arguments[0].form == Form::positional);
  CHECK(arguments[1].form == Form::named);
  CHECK(arguments[1].name == "k");
  CHECK(arguments[2].form == Form::spread_list);
  CHECK(arguments[3].form == Form::spread_dict);
}

TEST_CASE("the filters of a block have no input at their start", "[text][jinja_operand_parser]") {
  TokenCursor cursor(Lexer("{{ trim | indent(2) }}").run());
  cursor.take();
  const ExpressionPtr filter = ExpressionParser(cursor).parse_block_filters();
  const auto& outer = std::get<FilterUse>(filter->node);
  CHECK(outer.name == "indent");
  CHECK(std::get<FilterUse>(outer.input->node).input == nullptr);
}

TEST_CASE("inside a macro its special names are refused", "[text][jinja_operand_parser]") {
  TokenCursor cursor(Lexer("{{ varargs | length }}").run());
  cursor.take();
  ExpressionParser parser(cursor);
  parser.open_macros = 1;
  CHECK_THROWS_WITH(parser.parse(), "chat template, line 1: 'varargs' in a macro is not supported");
  CHECK(std::get<Name>(parsed("varargs")->node).name == "varargs");
}

TEST_CASE("an integer that does not fit is refused", "[text][jinja_operand_parser]") {
  CHECK_THROWS_AS(parsed("9223372036854775808"), Error);
  CHECK_THROWS_AS(parsed("a.9223372036854775808"), Error);
}
