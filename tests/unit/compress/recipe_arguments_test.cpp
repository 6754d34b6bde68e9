// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/recipe_arguments.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

constexpr std::array<std::string_view, 3> known{"sparsity", "targets", "block_size"};
constexpr std::array<std::string_view, 1> ignored{"offload_hessians"};

template <class Read>
auto read(const std::string& text, Read&& use) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  return use(detail::RecipeArguments(node, "M", "r.yaml"));
}

template <class Read>
std::string error(const std::string& text, Read&& use) {
  return error_of([&] { read(text, use); });
}

}  // namespace

TEST_CASE("arguments are read by name and type", "[compress][recipe_arguments]") {
  read("{a: true, b: 0.5, c: 128, d: text, e: [x, y], f: null}", [](const detail::RecipeArguments& arguments) {
    CHECK(arguments.flag("a", false));
    CHECK(arguments.number("b", 0, 0, 1) == 0.5);
    CHECK(arguments.integer("c", 0, 1, 1000) == 128);
    CHECK(arguments.text("d", "") == "text");
    CHECK(arguments.texts("e").size() == 2);
    CHECK(arguments.texts("d").size() == 1);
    CHECK(arguments.find("f") == nullptr);
    CHECK(arguments.flag("f", true));
    CHECK(arguments.number("g", 7, 0, 1) == 7);
    CHECK(arguments.texts("g").empty());
    CHECK(arguments.place() == "r.yaml, line 1: M");
  });
}

TEST_CASE("values of a wrong type or size are refused", "[compress][recipe_arguments]") {
  using Arguments = detail::RecipeArguments;
  CHECK(error("a: 1", [](const Arguments& all) { all.flag("a", false); }) ==
        "invalid_argument: r.yaml, line 1: a of M must be true or false, not \"1\"");
  CHECK(error("a: 2", [](const Arguments& all) { all.number("a", 0, 0, 1); }) ==
        "invalid_argument: r.yaml, line 1: a of M must be a number from 0 to 1, not \"2\"");
  CHECK(error("\na: [1]", [](const Arguments& all) { all.number("a", 0, 0, 1); }) ==
        "invalid_argument: r.yaml, line 2: a of M must be a number from 0 to 1");
  CHECK(error("a: 1.5", [](const Arguments& all) { all.integer("a", 0, 0, 9); }) ==
        "invalid_argument: r.yaml, line 1: a of M must be a whole number from 0 to 9, not \"1.5\"");
  CHECK(error("a: {b: 1}", [](const Arguments& all) { all.text("a", ""); }).starts_with("invalid_argument: "));
  CHECK(error("a: {b: 1}", [](const Arguments& all) { all.texts("a"); }).starts_with("invalid_argument: "));
  CHECK(error("a: [[x]]", [](const Arguments& all) { all.texts("a"); }).starts_with("invalid_argument: "));
  CHECK(error("[1]", [](const Arguments&) {}) == "invalid_argument: r.yaml, line 1: M must be a mapping, not a list");
}

TEST_CASE("unknown names are errors with the nearest, meaningless ones notes", "[compress][recipe_arguments]") {
  std::vector<std::string> notes;
  const auto check = [&](const detail::RecipeArguments& all) { all.require_known(known, ignored, notes); };
  read("{sparsity: 1, offload_hessians: true}", check);
  CHECK(notes == std::vector<std::string>{"line 1: M: offload_hessians has no meaning here and was ignored"});
  CHECK(error("sparsity: 1\nblok_size: 2", check) ==
        "invalid_argument: r.yaml, line 2: unknown argument \"blok_size\" of M; did you mean block_size?");
  CHECK(error("offload_hesians: 2", check).ends_with("did you mean offload_hessians?"));
  CHECK(error("zzz: 2", check).ends_with("; known are sparsity, targets, block_size, offload_hessians"));
}
