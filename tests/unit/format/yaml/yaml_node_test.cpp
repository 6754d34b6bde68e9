// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/yaml/yaml_node.hpp>

#include <string>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

YamlNode scalar(std::string text, bool is_quoted = false) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::move(text);
  node.is_quoted = is_quoted;
  return node;
}

}  // namespace

TEST_CASE("truth values of YAML 1.1 and 1.2 are read, quoted ones are text", "[format][yaml_node]") {
  CHECK(scalar("True").boolean() == true);
  CHECK(scalar("yes").boolean() == true);
  CHECK(scalar("FALSE").boolean() == false);
  CHECK(scalar("off").boolean() == false);
  CHECK_FALSE(scalar("tRUE").boolean());
  CHECK_FALSE(scalar("true", true).boolean());
  CHECK_FALSE(YamlNode().boolean());
}

TEST_CASE("numbers are finite decimals, quoted or not", "[format][yaml_node]") {
  CHECK(scalar("0.5").number() == 0.5);
  CHECK(scalar("0.5", true).number() == 0.5);
  CHECK(scalar("-1e-2").number() == -0.01);
  CHECK(scalar(".5").number() == 0.5);
  for (const char* text : {"", "nan", "inf", "0x10", "1e999", "1.2.3", "5%", " 1", "1 "}) {
    INFO(text);
    CHECK_FALSE(scalar(text).number());
  }
  CHECK_FALSE(scalar(std::string(1000, '1')).number());
  CHECK_FALSE(YamlNode().number());
}

TEST_CASE("a mapping finds the value of a key", "[format][yaml_node]") {
  YamlNode mapping;
  mapping.kind = YamlNode::Kind::mapping;
  mapping.keys = {scalar("a"), scalar("b")};
  mapping.items = {scalar("1"), scalar("2")};
  REQUIRE(mapping.find("b") != nullptr);
  CHECK(mapping.find("b")->text == "2");
  CHECK(mapping.find("c") == nullptr);
  CHECK(mapping.kind_name() == "a mapping");
  CHECK(scalar("x").kind_name() == "a single value");
}

TEST_CASE("errors name the source and the line", "[format][yaml_node]") {
  CHECK_THROWS_WITH(detail::fail_at(ErrorCode::malformed, "r.yaml", 7, "a ", 1), "r.yaml, line 7: a 1");
}
