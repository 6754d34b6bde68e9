// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/recipe_variables.hpp>

#include <set>
#include <string>

#include <catch2/catch_all.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

/// `value` with the variables of `args` put in.
YamlNode with(const std::string& args, const std::string& value, std::set<std::string>* used = nullptr) {
  detail::RecipeVariables variables("r.yaml");
  const YamlNode all = parse_yaml(args, "r.yaml");
  for (std::size_t i = 0; i < all.keys.size(); ++i) variables.add(all.keys[i].text, all.items[i]);
  YamlNode node = parse_yaml(value, "r.yaml");
  variables.substitute(node);
  if (used != nullptr) variables.add_used(*used);
  return node;
}

std::string text(const std::string& args, const std::string& value) {
  return with(args, value).text;
}

std::string error(const std::string& args, const std::string& value) {
  return error_of([&] { with(args, value); });
}

}  // namespace

TEST_CASE("eval gives numbers", "[compress][recipe_variables]") {
  CHECK(text("a: 2", "eval(a * 3)") == "6");
  CHECK(with("a: 2", "'eval(a / 4)'").number() == 0.5);
  CHECK(text("a: eval(b + 1)\nb: eval(c * 2)\nc: 4", "eval(a)") == "9");
  CHECK(text("a: 1", "x_eval(a)_eval(a + 1)") == "x_1_2");
  CHECK(text("a: 1", "no reference") == "no reference");
}

TEST_CASE("a reference takes the whole value", "[compress][recipe_variables]") {
  CHECK(text("a: 0.5", "$a") == "0.5");
  CHECK(text("a: 0.5", "<a>") == "0.5");
  const YamlNode list = with("layers: [x, y]", "$layers");
  REQUIRE(list.items.size() == 2);
  CHECK(list.items[1].text == "y");
  CHECK(with("a: 0.5", "{b: [$a, {c: <a>}]}").find("b")->items[1].find("c")->text == "0.5");
}

TEST_CASE("quoted text that refers to nothing stays", "[compress][recipe_variables]") {
  CHECK(text("a: 1", "'$b'") == "$b");
  CHECK(text("a: 1", "$") == "$");
  CHECK(text("a: 1", "'re:a$'") == "re:a$");
  CHECK(text("a: 1", "<1>") == "<1>");
}

TEST_CASE("the first value of a name holds, and what is used is known", "[compress][recipe_variables]") {
  detail::RecipeVariables variables("r.yaml");
  variables.add("a", parse_yaml("1", "r"));
  variables.add("a", parse_yaml("2", "r"));
  YamlNode node = parse_yaml("$a", "r");
  variables.substitute(node);
  CHECK(node.text == "1");
  std::set<std::string> used;
  with("a: eval(b)\nb: 1\nc: 2", "eval(a)", &used);
  CHECK(used == std::set<std::string>{"a", "b"});
}

TEST_CASE("wrong references are errors", "[compress][recipe_variables]") {
  CHECK(error("sparsity: 1", "$sparsty") ==
        "not_found: r.yaml, line 1: no variable \"sparsty\"; did you mean sparsity?");
  CHECK(error("a: 1", "eval(b)") == "not_found: r.yaml, line 1: no variable \"b\"; variables are given under args");
  CHECK(error("a: x", "eval(a)") == "malformed: r.yaml, line 1: the variable \"a\" is not a number");
  CHECK(error("a: $b\nb: $a", "$a") == "malformed: r.yaml, line 2: the variable \"a\" needs its own value");
  CHECK(error("a: eval(a)", "$a").starts_with("malformed: "));
  CHECK(error("a: 1", "eval(a").starts_with("malformed: "));
  std::string chain = "a0: 1\n", bomb = "a0: [1, 1]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string name = "a" + std::to_string(i), last = "$a" + std::to_string(i - 1);
    chain += name + ": " + last + "\n";
    bomb += name + ": [" + last + ", " + last + "]\n";
  }
  CHECK(error(chain, "$a99").find("a chain of more than 64 variables") != std::string::npos);
  CHECK(error(bomb, "$a30").starts_with("capacity: "));
}
