// SPDX-License-Identifier: Apache-2.0
/// \file Which modules a recipe's `targets` and `ignore` name (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/module_list.hpp>
#include <tulle/text/regex.hpp>

namespace tulle {

/// How a target named a module. A more specific one wins over the others, as in compressed-tensors.
enum class TargetRank { none, by_class, by_pattern, by_name };

/// One entry of `targets` or `ignore`: the exact name of a module; the name of a class; or "re:" and a pattern that is
/// matched at the beginning of the name, as Python's re.match does. "__ALL__" and "__ALL_PRUNABLE__" are all linear
/// layers.
class RecipeTarget {
 public:
  /// `where` names the source and line. Errors: malformed or unsupported for a pattern.
  RecipeTarget(std::string text, std::string_view where) : text_(std::move(text)) {
    constexpr std::string_view mark = "re:";
    if (text_.starts_with(mark)) pattern_.emplace("\\A(?:" + text_.substr(mark.size()) + ")", where);
    if (text_ == "__ALL__" || text_ == "__ALL_PRUNABLE__") class_name_ = "Linear";
  }

  const std::string& text() const noexcept { return text_; }

  TargetRank rank(const Module& module, Regex::Scratch& scratch) const {
    if (pattern_) return pattern_->search(module.name, 0, scratch) ? TargetRank::by_pattern : TargetRank::none;
    if (text_ == module.name) return TargetRank::by_name;
    return (class_name_.empty() ? text_ : class_name_) == module.class_name ? TargetRank::by_class : TargetRank::none;
  }

 private:
  std::string text_, class_name_;
  std::optional<Regex> pattern_;
};

/// The rank of every module of a list, in its order: its own or, for a linear layer, that of a container around it.
/// `unmatched`, if given, gets the entries that name no module.
inline std::vector<TargetRank> target_ranks(const ModuleList& list, std::span<const RecipeTarget> targets,
                                            std::vector<const RecipeTarget*>* unmatched = nullptr) {
  std::vector<TargetRank> ranks(list.modules.size(), TargetRank::none);
  Regex::Scratch scratch;
  for (const RecipeTarget& target : targets) {
    bool is_matched = false;
    for (std::size_t i = 0; i < list.modules.size(); ++i) {
      const TargetRank rank = target.rank(list.modules[i], scratch);
      is_matched = is_matched || rank != TargetRank::none;
      ranks[i] = std::max(ranks[i], rank);
    }
    if (!is_matched && unmatched != nullptr) unmatched->push_back(&target);
  }
  for (std::size_t i = 0; i < list.modules.size(); ++i) {
    const std::size_t parent = list.modules[i].parent;
    const bool is_meant =
        list.modules[i].kind == Module::Kind::linear || list.modules[i].kind == Module::Kind::container;
    if (is_meant && parent != Module::no_parent) ranks[i] = std::max(ranks[i], ranks[parent]);
  }
  return ranks;
}

/// Names that a mistyped target may have meant: classes, modules outside the layers, and modules of the first layer.
inline std::vector<std::string_view> target_names(const ModuleList& list) {
  std::vector<std::string_view> names;
  for (const Module& module : list.modules) {
    if (module.layer.value_or(0) != 0) continue;
    names.push_back(module.name);
    if (std::find(names.begin(), names.end(), module.class_name) == names.end()) names.push_back(module.class_name);
  }
  return names;
}

}  // namespace tulle
