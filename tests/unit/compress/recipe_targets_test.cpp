// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/recipe_targets.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

/// How many linear layers targets name, and "+embedding" where they name that.
std::string matched(std::vector<std::string> texts, std::size_t layers = 2) {
  const ModuleList list = tiny_modules(layers);
  std::vector<RecipeTarget> targets;
  for (std::string& text : texts) targets.emplace_back(std::move(text), "r.yaml, line 1");
  const std::vector<TargetRank> ranks = target_ranks(list, targets);
  std::size_t linear = 0;
  bool embedding = false;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == TargetRank::none) continue;
    linear += list.modules[i].kind == Module::Kind::linear;
    embedding = embedding || list.modules[i].kind == Module::Kind::embedding;
  }
  return std::to_string(linear) + (embedding ? "+embedding" : "");
}

}  // namespace

TEST_CASE("targets are names, classes or patterns", "[compress][recipe_targets]") {
  CHECK(matched({"Linear"}) == "15");
  CHECK(matched({"Embedding"}) == "0+embedding");
  CHECK(matched({"__ALL__"}) == "15");
  CHECK(matched({"__ALL_PRUNABLE__"}) == "15");
  CHECK(matched({"lm_head"}) == "1");
  CHECK(matched({"model.layers.1.mlp.up_proj", "lm_head"}) == "2");
  CHECK(matched({"nothing"}) == "0");
  CHECK(matched({}) == "0");
}

TEST_CASE("a container stands for its linear layers", "[compress][recipe_targets]") {
  CHECK(matched({"LlamaDecoderLayer"}) == "14");
  CHECK(matched({"LlamaMLP"}) == "6");
  CHECK(matched({"model.layers.0"}) == "7");
  CHECK(matched({"model"}) == "14");
  CHECK(matched({"re:model.layers.\\d*$"}, 12) == "84");
  CHECK(matched({"model.layers.1"}, 12) == "7");
}

TEST_CASE("patterns begin at the name's beginning, as re.match", "[compress][recipe_targets]") {
  CHECK(matched({"re:layers"}) == "0");
  CHECK(matched({"re:.*lm_head"}) == "1");
  CHECK(matched({"re:lm_he"}) == "1");
  CHECK(matched({"re:.*q_proj|lm_head"}) == "3");
  CHECK(matched({"re:model\\.layers\\.[01]\\.mlp\\.(gate|up)_proj"}) == "4");
  CHECK(matched({"re:^lm_head$"}) == "1");
  CHECK(matched({"re:.*"}) == "15+embedding");
}

TEST_CASE("the most specific target gives the rank", "[compress][recipe_targets]") {
  const ModuleList list = tiny_modules(1);
  const std::vector<RecipeTarget> targets{{"Linear", "r"}, {"re:.*_proj", "r"}, {"model.layers.0.mlp.up_proj", "r"}};
  const std::vector<TargetRank> ranks = target_ranks(list, targets);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string& name = list.modules[i].name;
    INFO(name);
    if (name == "lm_head") CHECK(ranks[i] == TargetRank::by_class);
    if (name == "model.layers.0.mlp.down_proj") CHECK(ranks[i] == TargetRank::by_pattern);
    if (name == "model.layers.0.mlp.up_proj") CHECK(ranks[i] == TargetRank::by_name);
    if (name == "model.norm") CHECK(ranks[i] == TargetRank::none);
  }
}

TEST_CASE("entries that name nothing are reported", "[compress][recipe_targets]") {
  const ModuleList list = tiny_modules(1);
  const std::vector<RecipeTarget> targets{{"Linear", "r"}, {"lm_haed", "r"}};
  std::vector<const RecipeTarget*> unmatched;
  target_ranks(list, targets, &unmatched);
  REQUIRE(unmatched.size() == 1);
  CHECK(unmatched[0]->text() == "lm_haed");
  const std::vector<std::string_view> names = target_names(list);
  CHECK(std::find(names.begin(), names.end(), "LlamaDecoderLayer") != names.end());
  CHECK(std::find(names.begin(), names.end(), "lm_head") != names.end());
}

TEST_CASE("patterns that are wrong or not available are errors", "[compress][recipe_targets]") {
  CHECK(error_of([] { RecipeTarget("re:(", "r.yaml, line 3"); }).find("r.yaml, line 3") != std::string::npos);
  CHECK(error_of([] { RecipeTarget("re:(?!.*lm_head).*", "r"); }).starts_with("unsupported: "));
  CHECK(error_of([] { RecipeTarget("re:" + std::string(100000, '('), "r"); }) != "none");
  CHECK(error_of([] { RecipeTarget("re:((a{500}){500}){500}", "r"); }) != "none");
}
