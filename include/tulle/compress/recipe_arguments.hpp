// SPDX-License-Identifier: Apache-2.0
/// \file A mapping of a recipe, read by the names of its keys (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/recipe_expression.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/near_names.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/yaml/yaml_node.hpp>

namespace tulle::detail {

/// "; did you mean sparsity?", or the list of all names where none is similar.
inline std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string near = near_names(name, known);
  if (!near.empty()) return "; did you mean " + near + "?";
  std::string all;
  for (const std::string_view each : known) all += (all.empty() ? "; known are " : ", ") + std::string(each);
  return all;
}

/// The arguments of `owner` (a modifier, a scheme). A key whose value is null counts as absent.
/// Errors of all functions: invalid_argument, with the source, the line and the owner.
class RecipeArguments {
 public:
  /// `node` must be a mapping or null, and outlive this. `where` names the source.
  RecipeArguments(const YamlNode& node, std::string owner, std::string_view where)
      : node_(node), owner_(std::move(owner)), where_(where) {
    if (!node.is_mapping() && !node.is_null()) {
      fail_at(ErrorCode::invalid_argument, where_, node.line, owner_, " must be a mapping, not ", node.kind_name());
    }
  }

  const std::string& owner() const noexcept { return owner_; }
  std::string_view where() const noexcept { return where_; }
  const YamlNode& node() const noexcept { return node_; }

  /// "recipe.yaml, line 4: SparseGPTModifier"
  std::string place() const { return std::string(where_) + ", line " + std::to_string(node_.line) + ": " + owner_; }

  /// Refuses keys that are in neither list. Each key of the second list that is there becomes a note.
  void require_known(std::span<const std::string_view> known, std::span<const std::string_view> without_meaning,
                     std::vector<std::string>& notes) const {
    for (const YamlNode& key : node_.keys) {
      if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
      if (std::find(without_meaning.begin(), without_meaning.end(), key.text) != without_meaning.end()) {
        notes.push_back("line " + std::to_string(key.line) + ": " + owner_ + ": " + key.text +
                        " has no meaning here and was ignored");
        continue;
      }
      std::vector<std::string_view> all(known.begin(), known.end());
      all.insert(all.end(), without_meaning.begin(), without_meaning.end());
      fail_at(ErrorCode::invalid_argument, where_, key.line, "unknown argument ", quoted_name(key.text), " of ", owner_,
              suggestion(key.text, all));
    }
  }

  /// The value of a key, or null pointer where it is absent or null.
  const YamlNode* find(std::string_view key) const {
    const YamlNode* found = node_.find(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  bool flag(std::string_view key, bool fallback) const {
    const YamlNode* value = find(key);
    if (value == nullptr) return fallback;
    const auto found = value->boolean();
    if (!found) reject(key, *value, "must be true or false");
    return *found;
  }

  /// A number from `lowest` to `highest`, both allowed.
  double number(std::string_view key, double fallback, double lowest, double highest) const {
    const YamlNode* value = find(key);
    return value == nullptr ? fallback : number_in(key, *value, lowest, highest);
  }

  double number_in(std::string_view key, const YamlNode& value, double lowest, double highest) const {
    const auto found = value.number();
    if (!found || *found < lowest || *found > highest) {
      reject(key, value, "must be a number from ", number_text(lowest), " to ", number_text(highest));
    }
    return *found;
  }

  /// A whole number from `lowest` to `highest`, both allowed.
  long long integer(std::string_view key, long long fallback, long long lowest, long long highest) const {
    const YamlNode* value = find(key);
    if (value == nullptr) return fallback;
    const auto found = value->number();
    if (!found || *found != std::floor(*found) || *found < static_cast<double>(lowest) ||
        *found > static_cast<double>(highest)) {
      reject(key, *value, "must be a whole number from ", lowest, " to ", highest);
    }
    return static_cast<long long>(*found);
  }

  std::string text(std::string_view key, std::string_view fallback) const {
    const YamlNode* value = find(key);
    if (value == nullptr) return std::string(fallback);
    if (!value->is_scalar()) reject(key, *value, "must be a single value, not ", value->kind_name());
    return value->text;
  }

  /// The texts of a list; a single value is a list of one. None where the key is absent.
  std::vector<const YamlNode*> texts(std::string_view key) const {
    const YamlNode* value = find(key);
    if (value == nullptr) return {};
    return texts_of(key, *value);
  }

  std::vector<const YamlNode*> texts_of(std::string_view key, const YamlNode& value) const {
    if (value.is_scalar()) return {&value};
    if (!value.is_sequence()) reject(key, value, "must be a list of names");
    std::vector<const YamlNode*> all;
    for (const YamlNode& item : value.items) {
      if (!item.is_scalar()) reject(key, item, "must be a list of names, not of other lists or mappings");
      all.push_back(&item);
    }
    return all;
  }

  template <class... Parts>
  [[noreturn]] void reject(std::string_view key, const YamlNode& value, const Parts&... parts) const {
    const std::string found = value.is_scalar() ? ", not " + quoted_name(value.text) : std::string();
    fail_at(ErrorCode::invalid_argument, where_, value.line, key, " of ", owner_, " ", parts..., found);
  }

 private:
  const YamlNode& node_;
  std::string owner_;
  std::string_view where_;
};

}  // namespace tulle::detail
