// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/expression_parser.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

/// The expression with every operation in parentheses.
std::string shape(const Expression& expression);

std::string shape(const ExpressionPtr& expression) {
  return expression ? shape(*expression) : "";
}

template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  ((text += parts), ...);
  return text;
}

struct Shape {
  std::string operator()(const Constant& node) const {
    return node.value.is(Kind::integer) ? std::to_string(node.value.integer()) : "c";
  }
  std::string operator()(const Name& node) const { return node.name; }
  std::string operator()(const Negation& node) const { return joined("(not ", shape(node.operand), ")"); }
  std::string operator()(const Sign& node) const { return joined(node.minus ? "(-" : "(+", shape(node.operand), ")"); }
  std::string operator()(const Arithmetic& node) const {
    return joined("(", shape(node.left), node.sign, shape(node.right), ")");
  }
  std::string operator()(const Logic& node) const {
    return joined("(", shape(node.left), node.is_and ? " and " : " or ", shape(node.right), ")");
  }
  std::string operator()(const Concatenation& node) const {
    std::string text = shape(node.parts.front());
    for (std::size_t i = 1; i < node.parts.size(); ++i) text += joined("~", shape(node.parts[i]));
    return joined("(", text, ")");
  }
  std::string operator()(const Comparison& node) const {
    std::string text = shape(node.first);
    for (const auto& [sign, operand] : node.rest) text += joined(" ", sign, " ", shape(operand));
    return joined("(", text, ")");
  }
  std::string operator()(const Conditional& node) const {
    return joined("(", shape(node.then), " if ", shape(node.test), " else ", shape(node.otherwise), ")");
  }
  std::string operator()(const AttributeAccess& node) const { return joined(shape(node.object), ".", node.name); }
  std::string operator()(const ItemAccess& node) const { return joined(shape(node.object), "[", shape(node.key), "]"); }
  std::string operator()(const SliceAccess& node) const {
    return joined(shape(node.object), "[", shape(node.start), ":", shape(node.stop), ":", shape(node.step), "]");
  }
  std::string operator()(const Call& node) const {
    return joined(shape(node.callee), "(", std::to_string(node.arguments.size()), ")");
  }
  std::string operator()(const FilterUse& node) const { return joined("(", shape(node.input), "|", node.name, ")"); }
  std::string operator()(const TestUse& node) const {
    std::string text = joined("(", shape(node.input), " is ", node.name);
    for (const auto& argument : node.arguments) text += joined(" ", shape(argument.value));
    return joined(text, ")");
  }
  std::string operator()(const ListLiteral& node) const { return joined("list", std::to_string(node.items.size())); }
  std::string operator()(const DictLiteral& node) const { return joined("dict", std::to_string(node.entries.size())); }
};

std::string shape(const Expression& expression) {
  return std::visit(Shape(), expression.node);
}

std::string parsed(const std::string& source) {
  TokenCursor cursor(Lexer(joined("{{ ", source, " }}")).run());
  cursor.take();
  const ExpressionPtr expression = ExpressionParser(cursor).parse_tuple();
  cursor.expect(TokenKind::print_end, "'}}'");
  return shape(expression);
}

}  // namespace

TEST_CASE("operators bind as in Jinja", "[text][jinja_expression_parser]") {
  CHECK(parsed("1 + 2 * 3 - 4") == "((1+(2*3))-4)");
  CHECK(parsed("1 + a ~ b * 2") == "(1+(a~(b*2)))");
  CHECK(parsed("-a | f") == "((-a)|f)");
  CHECK(parsed("not a == b and c or d") == "(((not (a == b)) and c) or d)");
  CHECK(parsed("a < b <= c not in d") == "(a < b <= c not in d)");
  CHECK(parsed("a if b else c if d else e") == "(a if b else (c if d else e))");
  CHECK(parsed("a if b") == "(a if b else )");
  CHECK(parsed("a + b | f | g + c") == "((a+((b|f)|g))+c)");
}

TEST_CASE("tests take one bare argument and bind tighter than comparisons", "[text][jinja_expression_parser]") {
  CHECK(parsed("a is defined and b is not none") == "((a is defined) and (not (b is none)))");
  CHECK(parsed("a is gt 3 == b") == "((a is gt 3) == b)");
  CHECK(parsed("a is eq b.c") == "(a is eq b.c)");
  CHECK(parsed("a is defined else_") == "(a is defined else_)");
}

TEST_CASE("accesses and calls chain", "[text][jinja_expression_parser]") {
  CHECK(parsed("a.b[1].c(d, *e, k=f, **g).0") == "a.b[1].c(4)[0]");
  CHECK(parsed("a[1:]") == "a[1:c:c]");
  CHECK(parsed("a[:2:3]") == "a[c:2:3]");
  CHECK(parsed("1, 2") == "list2");
  CHECK(parsed("(1,)") == "list1");
  CHECK(parsed("[1, 2,]") == "list2");
  CHECK(parsed("{'a': 1,}") == "dict1");
}

TEST_CASE("malformed expressions are refused with their line", "[text][jinja_expression_parser]") {
  for (const char* wrong : {"\n", "\na b", "\na +", "\n(a", "\na[", "\na[]", "\na.", "\na |", "\na is", "\nf(a=1, b)",
                            "\n{'a' 1}", "\n[1 2]", "\nnot", "\na is b is c", "\n12345678901234567890", "\na if"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(parsed(wrong), Catch::Matchers::ContainsSubstring("line 2"));
  }
}

TEST_CASE("deep and long expressions are refused before the stack ends", "[text][jinja_expression_parser]") {
  const auto repeated = [](std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  CHECK(parsed(joined(repeated("(", 100), "a", repeated(")", 100))) == "a");
  CHECK_THROWS_AS(parsed(joined(repeated("(", 5000), "a", repeated(")", 5000))), Error);
  for (const char* part : {"not ", "- "}) CHECK_THROWS_AS(parsed(joined(repeated(part, 5000), "a")), Error);
  for (const char* part : {"+a", " or a", " and a", ".a", "[a]", "()", "|f", " if a else b"}) {
    CAPTURE(part);
    CHECK_THROWS_AS(parsed(joined("a", repeated(part, 5000))), Error);
  }
}
