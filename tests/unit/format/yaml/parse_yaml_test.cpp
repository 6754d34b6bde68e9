// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/yaml/parse_yaml.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

/// A tree on one line: {key: value}, [items], "quoted", plain, ~, each with its tag.
std::string shown(const YamlNode& node) {
  std::string text = node.tag.empty() ? "" : node.tag + " ";
  if (node.is_null()) return text + "~";
  if (node.is_scalar()) return text + (node.is_quoted ? "\"" + node.text + "\"" : node.text);
  text += node.is_mapping() ? "{" : "[";
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    text += i == 0 ? "" : ", ";
    if (node.is_mapping()) text += node.keys[i].text + ": ";
    text += shown(node.items[i]);
  }
  return text + (node.is_mapping() ? "}" : "]");
}

std::string parsed(std::string_view text) {
  return shown(parse_yaml(text, "r.yaml"));
}

std::string error(std::string_view text) {
  try {
    (void)parse_yaml(text, "r.yaml");
  } catch (const Error& failure) {
    return std::string(error_name(failure.code())) + ": " + failure.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("YAML becomes a tree", "[format][parse_yaml]") {
  CHECK(parsed("a: 1\nb: [x, 'y', \"z\"]\nc:\n  - d: null\n  - ~\n") == "{a: 1, b: [x, \"y\", \"z\"], c: [{d: ~}, ~]}");
  CHECK(parsed("a: ''\nb:\n") == "{a: \"\", b: ~}");
  CHECK(parsed("- !Type {a: 1}\n- !Other\n") == "[!Type {a: 1}, !Other ~]");
  CHECK(parsed("a: &x [1, 2]\nb: *x\n") == "{a: [1, 2], b: [1, 2]}");
  CHECK(parsed("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\n") == "{a: {p: 1, q: 2}, b: {q: 3, p: 1}}");
  CHECK(parsed("{<<: [{p: 1}, {p: 2, q: 3}]}") == "{p: 1, q: 3}");
  CHECK(error("a: 1\n<<: 2\n") ==
        "malformed: r.yaml, line 2: << takes a mapping or a list of these, not a single value");
  CHECK(parsed("pattern: 're:model.layers.\\d*$'") == "{pattern: \"re:model.layers.\\d*$\"}");
  CHECK(parsed("") == "~");
}

TEST_CASE("JSON is read as YAML", "[format][parse_yaml]") {
  CHECK(parsed("{\"a\": {\"b\": [0.5, true, null, \"re:\\\\d\"]}}") == "{a: {b: [0.5, true, ~, \"re:\\d\"]}}");
  CHECK(parsed("{\n\t\"a\": 1,\n\t\"b\": 2\n}") == "{a: 1, b: 2}");
}

TEST_CASE("a Markdown file gives its front matter, with the file's lines", "[format][parse_yaml]") {
  const YamlNode node = parse_yaml("---\na: 1\nb:\n  c: 2\n---\n# Title\n\n* text: {\n", "r.md");
  CHECK(shown(node) == "{a: 1, b: {c: 2}}");
  CHECK(node.keys[1].line == 3);
  CHECK(parsed("---\na: 1\n") == "{a: 1}");
  CHECK(parsed("---\na: 1\n----\n").starts_with("{a:"));
  const YamlNode dressed =
      parse_yaml("\xEF\xBB\xBF\r\n \r\n---\r\na: 1\r\nb:\r\n  c: 2\r\n---\r\n* text: {\r\n", "r.md");
  CHECK(shown(dressed) == "{a: 1, b: {c: 2}}");
  CHECK(dressed.keys[1].line == 5);
}

TEST_CASE("values know their lines", "[format][parse_yaml]") {
  const YamlNode node = parse_yaml("a: 1\n\nb:\n  c: 2\n", "r.yaml");
  CHECK(node.keys[0].line == 1);
  CHECK(node.keys[1].line == 3);
  CHECK(node.find("b")->keys[0].line == 4);
}

TEST_CASE("what is no YAML is malformed, with its line", "[format][parse_yaml]") {
  CHECK(error("a: 1\nb: [1, 2\n").starts_with("malformed: r.yaml, line "));
  CHECK(error("a: 1\n b: 2\n").starts_with("malformed: r.yaml, line 2: not valid YAML: "));
  CHECK(error("a: 1\n---\nb: 2\n") == "malformed: r.yaml, line 3: a second document; there may be one");
  CHECK(error("a: *missing\n").starts_with("malformed: r.yaml, line 1: not valid YAML: "));
  CHECK(error("a: \"unterminated").starts_with("malformed: r.yaml, line "));
  CHECK(error("a: {b: 1\n").starts_with("malformed: r.yaml, line "));
  CHECK(error("\ta: 1\n").starts_with("malformed: r.yaml"));
  CHECK(error("a: 1\nb: 2\na: 3\n") == "malformed: r.yaml, line 3: the key \"a\" appears twice");
  CHECK(error("{{a: 1}: 2}") == "malformed: r.yaml, line 1: a key that is a mapping");
  CHECK(error("[1, 2]: 3\n") == "malformed: r.yaml, line 1: a key that is a list");
  CHECK(error("a: &x [*x]\n").starts_with("malformed: r.yaml, line 1: "));
  CHECK(error("a: \xFF\n") == "malformed: r.yaml: must be text in UTF-8");
  CHECK(error(std::string_view("a: \0\n", 5)) == "malformed: r.yaml: must be text in UTF-8");
}

TEST_CASE("deep, wide and repeated texts are refused quickly", "[format][parse_yaml]") {
  CHECK(error(std::string(65, '[')) == "malformed: r.yaml, line 1: nested deeper than 64 levels");
  CHECK(error(std::string(500000, '[')).starts_with("malformed: r.yaml, line 1: "));
  CHECK(error(std::string(500000, '{')).starts_with("malformed: r.yaml, line 1: "));
  CHECK(parsed(std::string(64, '[') + std::string(64, ']')).size() == 128);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + last;
    for (int j = 0; j < 9; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  CHECK(error(bomb).starts_with("capacity: r.yaml, line "));
  std::string anchors;  // each keeps a copy of what is in it
  for (int i = 0; i < 60; ++i) anchors += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 3000; ++i) anchors += "x, ";
  CHECK(error(anchors + std::string(60, ']')).starts_with("capacity: r.yaml, line 1: "));
  std::string wide = "a: [";
  for (int i = 0; i < 120000; ++i) wide += "1, ";
  CHECK(error(wide + "1]").starts_with("capacity: r.yaml, line "));
  CHECK(error(std::string((1 << 20) + 1, ' ')) == "capacity: r.yaml: 1048577 bytes are too many; at most 1048576");
}
