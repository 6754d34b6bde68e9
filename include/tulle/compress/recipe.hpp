// SPDX-License-Identifier: Apache-2.0
/// \file Recipes of SparseML 1.7 and llm-compressor as text (L5).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/modifier.hpp>
#include <tulle/compress/modifier_reader.hpp>
#include <tulle/compress/modifier_types.hpp>
#include <tulle/compress/quantization_reader.hpp>
#include <tulle/compress/recipe_arguments.hpp>
#include <tulle/compress/recipe_variables.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>
#include <tulle/format/yaml/yaml_node.hpp>

namespace tulle {

namespace detail {

class RecipeReader {
 public:
  RecipeReader(std::string_view where, const std::map<std::string, std::string>& variables)
      : where_(where), given_(variables) {}

  Recipe read(const YamlNode& root) {
    if (!root.is_mapping()) {
      fail(ErrorCode::malformed, where_, ": a recipe must be a mapping of stages or modifiers, not ", root.kind_name());
    }
    YamlNode loose;  // modifiers outside of stages
    loose.kind = YamlNode::Kind::mapping;
    loose.line = root.line;
    std::vector<std::pair<const YamlNode*, const YamlNode*>> stages;  // name and content
    std::vector<const YamlNode*> scalars;                             // keys
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      const YamlNode& key = root.keys[i];
      const YamlNode& value = root.items[i];
      if (!stage_suffix(key.text).empty()) {
        stages.emplace_back(&key, &value);
      } else if (key.text == "stages") {
        const RecipeArguments entries(value, "stages", where_);
        for (std::size_t j = 0; j < value.keys.size(); ++j) stages.emplace_back(&value.keys[j], &value.items[j]);
      } else if (is_group(key.text)) {
        loose.keys.push_back(key);
        loose.items.push_back(value);
      } else if (key.text == "args") {
        add_arguments(value, "args");
      } else if (key.text == "version" || key.text == "metadata") {
        continue;
      } else if (value.is_scalar()) {
        scalars.push_back(&key);  // SparseML's older form of a variable
        arguments_.emplace_back(key.text, value);
      } else {
        fail_unknown(key, "a recipe", {"args", "stages", "version", "metadata", "modifiers", "NAME_stage"});
      }
    }
    Recipe recipe;
    if (!loose.keys.empty()) add_stage("default", loose, recipe);
    for (const auto& [key, value] : stages) add_stage(stage_name(*key), *value, recipe);
    for (const YamlNode* key : scalars) {
      if (used_.contains(key->text)) continue;
      fail_unknown(*key, "a recipe", {"args", "stages", "version", "metadata", "modifiers", "NAME_stage"});
    }
    for (const auto& [name, value] : given_) {
      if (used_.contains(name)) continue;
      fail(ErrorCode::not_found, where_, ": nothing in this recipe refers to the variable ", quoted_name(name));
    }
    if (recipe.stages.empty()) {
      fail(ErrorCode::invalid_argument, where_, ": a recipe without modifiers; write NAME_stage: with NAME_modifiers:");
    }
    return recipe;
  }

 private:
  /// "_stage", or "_stage_0" of a recipe that SparseML joined; else nothing.
  static std::string_view stage_suffix(std::string_view key) {
    constexpr std::string_view suffix = "_stage";
    const std::size_t number = key.find_last_not_of("0123456789") + 1;
    const std::size_t end = number < key.size() && key.substr(0, number).ends_with('_') ? number - 1 : key.size();
    return key.substr(0, end).ends_with(suffix) ? key.substr(end - suffix.size()) : std::string_view();
  }

  static bool is_group(std::string_view key) { return key == "modifiers" || key.ends_with("_modifiers"); }

  [[noreturn]] void fail_unknown(const YamlNode& key, std::string_view owner,
                                 std::vector<std::string_view> known) const {
    for (const std::string_view each : {"oneshot_modifiers", "pruning_modifiers", "quantization_modifiers"}) {
      known.push_back(each);
    }
    fail_at(ErrorCode::invalid_argument, where_, key.line, "unknown key ", quoted_name(key.text), " of ", owner,
            suggestion(key.text, known));
  }

  /// A stage's name becomes part of a folder's name.
  std::string stage_name(const YamlNode& key) const {
    std::string name = key.text;
    if (const std::string_view suffix = stage_suffix(key.text); !suffix.empty()) {
      name.erase(name.size() - suffix.size(), std::string_view("_stage").size());
    }
    constexpr std::size_t longest = 64;
    bool is_plain = !name.empty() && name.size() <= longest;
    for (const char byte : name) is_plain = is_plain && (continues_name(byte) || byte == '-');
    if (!is_plain) {
      fail_at(ErrorCode::invalid_argument, where_, key.line, "a stage's name must be 1 to ", longest,
              " letters, digits, - and _, not ", quoted_name(key.text));
    }
    return name;
  }

  void add_arguments(const YamlNode& node, const std::string& owner) {
    const RecipeArguments entries(node, owner, where_);
    for (std::size_t i = 0; i < node.keys.size(); ++i) arguments_.emplace_back(node.keys[i].text, node.items[i]);
  }

  void add_stage(const std::string& name, const YamlNode& source, Recipe& recipe) {
    const RecipeArguments arguments(source, "stage " + name, where_);
    for (const RecipeStage& other : recipe.stages) {
      if (other.name == name) {
        fail_at(ErrorCode::invalid_argument, where_, source.line, "there are two stages of the name ", name);
      }
    }
    RecipeVariables variables(where_);
    for (const auto& [key, value] : given_) {
      YamlNode node;
      node.kind = YamlNode::Kind::scalar;
      node.text = value;
      node.line = source.line;
      variables.add(key, node);
    }
    for (const auto& [key, value] : arguments_) variables.add(key, value);
    if (const YamlNode* own = arguments.find("args")) {
      const RecipeArguments entries(*own, "args of stage " + name, where_);
      for (std::size_t i = 0; i < own->keys.size(); ++i) variables.add(own->keys[i].text, own->items[i]);
    }
    YamlNode stage = source;
    for (std::size_t i = 0; i < stage.keys.size(); ++i) {
      if (stage.keys[i].text != "args") variables.substitute(stage.items[i]);
    }
    variables.add_used(used_);
    if (RecipeStage read = read_stage(name, stage); !read.modifiers.empty()) recipe.stages.push_back(std::move(read));
  }

  RecipeStage read_stage(const std::string& name, const YamlNode& node) {
    RecipeStage stage{name, {}, {}};
    const RecipeArguments arguments(node, "stage " + name, where_);
    for (const YamlNode& key : node.keys) {
      if (is_group(key.text) || key.text == "args" || key.text == "run_type" || key.text == "enabled") continue;
      fail_unknown(key, arguments.owner(), {"run_type", "enabled", "args", "modifiers"});
    }
    const std::string run_type = arguments.text("run_type", "oneshot");
    if (run_type == "train") {
      fail_at(ErrorCode::unsupported, where_, arguments.find("run_type")->line, "stage ", name,
              " trains; only run_type: oneshot is available");
    }
    if (run_type != "oneshot") arguments.reject("run_type", *arguments.find("run_type"), "must be oneshot");
    if (!arguments.flag("enabled", true)) return stage;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const std::string& key = node.keys[i].text;
      if (!is_group(key)) continue;
      const std::string group = key == "modifiers" ? "default" : key.substr(0, key.size() - 10);
      read_group(group, node.items[i], stage);
    }
    if (stage.modifiers.empty()) {
      fail_at(ErrorCode::invalid_argument, where_, node.line, "stage ", name, " has no modifiers");
    }
    return stage;
  }

  /// Modifiers as a mapping of types, or as a list of `Type: {...}` or `!Type {...}`.
  void read_group(const std::string& group, const YamlNode& node, RecipeStage& stage) {
    if (node.is_mapping()) {
      for (std::size_t i = 0; i < node.keys.size(); ++i) read_modifier(node.keys[i], node.items[i], group, stage);
      return;
    }
    if (!node.is_sequence()) {
      fail_at(ErrorCode::invalid_argument, where_, node.line, "the modifiers of group ", quoted_name(group),
              " must be a mapping or a list, not ", node.kind_name());
    }
    for (const YamlNode& each : node.items) {
      if (each.tag.size() > 1 && each.tag.front() == '!') {
        YamlNode type;
        type.kind = YamlNode::Kind::scalar;
        type.text = each.tag.substr(1);
        type.line = each.line;
        YamlNode content = each;
        content.tag.clear();
        if (content.is_scalar() && content.text.empty()) content.kind = YamlNode::Kind::null;
        read_modifier(type, content, group, stage);
      } else if (each.is_mapping() && each.keys.size() == 1) {
        read_modifier(each.keys[0], each.items[0], group, stage);
      } else {
        fail_at(ErrorCode::invalid_argument, where_, each.line,
                "an entry of a list of modifiers must be `Type: {arguments}` or `!Type {arguments}`");
      }
    }
  }

  void refuse_tags(const YamlNode& node) const {
    constexpr std::string_view standard = "tag:yaml.org,2002:";
    if (!node.tag.empty()) {
      const std::string_view name =
          std::string_view(node.tag).substr(node.tag.starts_with(standard) ? standard.size() : 0);
      for (const std::string_view known : {"str", "int", "float", "bool", "null", "seq", "map"}) {
        if (node.tag.starts_with(standard) && name == known) return;
      }
      fail_at(ErrorCode::unsupported, where_, node.line, "the tag ", quoted_name(node.tag),
              " is not available here; only entries of a list of modifiers have one");
    }
    for (const YamlNode& item : node.items) refuse_tags(item);
  }

  void read_modifier(const YamlNode& type, const YamlNode& content, const std::string& group, RecipeStage& stage) {
    refuse_tags(content);
    const std::string& name = type.text;
    require_modifier_type(name, where_, type.line);
    YamlNode placed = content;
    placed.line = type.line;
    const RecipeArguments arguments(placed, name, where_);
    std::vector<std::string>& notes = stage.notes;
    Modifier modifier{name, group, arguments.place(), {}};
    if (name == "SparseGPTModifier") {
      if (const YamlNode* inner = arguments.find("quantize"); inner != nullptr && inner->is_mapping()) {
        read_inner_modifier(*inner, group, stage);
      }
      modifier.arguments = read_sparsegpt(arguments, notes);
    } else if (name == "WandaPruningModifier") {
      modifier.arguments = read_wanda(arguments, notes);
    } else if (name == "MagnitudePruningModifier") {
      modifier.arguments = read_magnitude(arguments, notes);
    } else if (name == "AlpsModifier") {
      modifier.arguments = read_alps(arguments, notes);
    } else if (name == "PlanModifier") {
      modifier.arguments = read_plan(arguments, notes);
    } else if (is_quantization_type(name)) {
      modifier.arguments = QuantizationReader(arguments, notes).read_nearest(name != "QuantizationModifier");
    } else if (name == "GPTQModifier") {
      modifier.arguments = QuantizationReader(arguments, notes).read_gptq();
    } else if (name == "DescentModifier") {
      modifier.arguments = QuantizationReader(arguments, notes).read_descent();
    } else if (name == "RefineModifier") {
      modifier.arguments = read_refine(arguments, notes);
    } else {
      modifier.arguments = read_smooth_quant(arguments, name == "LogarithmicEqualizationModifier", notes);
    }
    stage.modifiers.push_back(std::move(modifier));
  }

  /// `quantize: {QuantizationModifier: {...}}` of SparseGPTModifier.
  void read_inner_modifier(const YamlNode& node, const std::string& group, RecipeStage& stage) {
    if (node.keys.size() != 1 || !is_quantization_type(node.keys[0].text)) {
      fail_at(ErrorCode::invalid_argument, where_, node.line,
              "quantize of SparseGPTModifier must be true, false or {QuantizationModifier: {arguments}}");
    }
    read_modifier(node.keys[0], node.items[0], group, stage);
  }

  std::string_view where_;
  const std::map<std::string, std::string>& given_;
  std::vector<std::pair<std::string, YamlNode>> arguments_;  // of all stages
  std::set<std::string> used_;                               // variables that some value refers to
};

}  // namespace detail

/// Reads a recipe: YAML, JSON or the front matter of a Markdown file. `where` names it in messages. `variables` replace
/// those of the recipe (`args:`). compress/README.md lists modifiers and arguments.
/// Errors: malformed for what is no YAML; invalid_argument for unknown keys, modifiers, arguments and wrong values,
/// with the line and the nearest known name; unsupported for what other tools have; not_found for unknown variables.
inline Recipe parse_recipe(std::string_view text, std::string_view where,
                           const std::map<std::string, std::string>& variables = {}) {
  return detail::RecipeReader(where, variables).read(parse_yaml(text, where));
}

}  // namespace tulle
