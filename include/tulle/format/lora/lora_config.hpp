// SPDX-License-Identifier: Apache-2.0
/// \file adapter_config.json of a LoRA adapter (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

/// What a matrix's change is multiplied by. Source: PEFT 0.21, tuners/lora (config.py, layer.py).
class LoraConfig {
 public:
  /// `config`: the file's object. Errors: malformed, unsupported for kinds of adapters that are no sum.
  LoraConfig(const Json& config, std::string where) : where_(std::move(where)) {
    check_kind(config);
    rank_ = json_value<std::uint64_t>(config, "r", 8, where_);
    alpha_ = json_value<double>(config, "lora_alpha", 8, where_);
    rank_stabilized_ = json_value(config, "use_rslora", false, where_);
    if (rank_ == 0) fail(ErrorCode::malformed, where_, ": \"r\" must be at least 1");
    rank_pattern_ = pattern<std::uint64_t>(config, "rank_pattern");
    alpha_pattern_ = pattern<double>(config, "alpha_pattern");
  }

  /// alpha / rank of a module whose matrices have that rank; of rank-stabilized adapters alpha / sqrt(rank).
  /// Errors: malformed where the config says another rank, unsupported where two patterns of the module disagree.
  float scale(const std::string& module, std::size_t rank) const {
    const std::uint64_t expected = of_module(rank_pattern_, "rank_pattern", module).value_or(rank_);
    if (rank != expected) {
      fail(ErrorCode::malformed, where_, ": module ", detail::quoted_name(module), " has rank ", expected,
           " here, and its matrices have rank ", rank);
    }
    const double alpha = of_module(alpha_pattern_, "alpha_pattern", module).value_or(alpha_);
    const auto size = static_cast<double>(rank);
    const double scale = alpha / (rank_stabilized_ ? std::sqrt(size) : size);
    if (!(std::fabs(scale) <= FLT_MAX)) {
      fail(ErrorCode::malformed, where_, ": the scale of module ", detail::quoted_name(module), " is out of range");
    }
    return static_cast<float>(scale);
  }

 private:
  template <class Value>
  using Pattern = std::map<std::string, Value>;

  void check_kind(const Json& config) const {
    const auto type = json_value<std::string>(config, "peft_type", "", where_);
    if (type != "LORA") refuse("\"peft_type\" is " + detail::quoted_name(type));
    constexpr std::array kinds{"use_dora",
                               "use_qalora",
                               "use_bdlora",
                               "lora_bias",
                               "kasa_config",
                               "monteclora_config",
                               "alora_invocation_tokens",
                               "layer_replication",
                               "arrow_config",
                               "target_parameters",
                               "trainable_token_indices"};
    for (const char* kind : kinds) {
      const auto found = config.find(kind);
      const bool is_off = found == config.end() || *found == Json(false) || found->empty();  // null is empty, too
      if (!is_off) refuse("it has \"" + std::string(kind) + "\"");
    }
    const auto bias = json_value<std::string>(config, "bias", "none", where_);
    if (bias != "none") refuse("\"bias\" is " + detail::quoted_name(bias));
    const auto start = config.find("init_lora_weights");
    if (start == config.end() || start->is_boolean() || start->is_null()) return;
    constexpr std::array<std::string_view, 4> of_adapter{"gaussian", "eva", "orthogonal", "mica"};
    const auto name = json_value<std::string>(config, "init_lora_weights", "", where_);
    if (std::find(of_adapter.begin(), of_adapter.end(), name) != of_adapter.end()) return;
    fail(ErrorCode::unsupported, where_, ": \"init_lora_weights\" is ", detail::quoted_name(name),
         ", which also changed the model's weights; convert the adapter with PEFT: ",
         "save_pretrained(..., path_initial_model_for_weight_conversion=...)");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorCode::unsupported, where_, ": ", what,
         "; only plain LoRA is merged here. Merge it with PEFT (merge_and_unload) and load the saved model");
  }

  /// Errors: malformed, unsupported for a key that is a regular expression.
  template <class Value>
  Pattern<Value> pattern(const Json& config, const char* key) const {
    Pattern<Value> result;
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return result;
    if (!found->is_object()) fail(ErrorCode::malformed, where_, ": \"", key, "\" is no object");
    for (const auto& entry : found->items()) {
      if (!detail::json_fits<Value>(entry.value())) {
        fail(ErrorCode::malformed, where_, ": \"", key, "\" of ", detail::quoted_name(entry.key()),
             " has the wrong type or is out of range");
      }
      const std::string_view name = std::string_view(entry.key()).substr(entry.key().starts_with('^') ? 1 : 0);
      const auto is_literal = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
      };
      if (name.empty() || !std::all_of(name.begin(), name.end(), is_literal)) {
        fail(ErrorCode::unsupported, where_, ": \"", key, "\" has the regular expression ",
             detail::quoted_name(entry.key()), "; write the names of modules in its place, or merge with PEFT");
      }
      result.emplace(entry.key(), entry.value().template get<Value>());
    }
    return result;
  }

  /// A key is a module's whole name, or its end behind a dot; one that begins with ^ is the whole name.
  static bool matches(std::string_view key, std::string_view module) {
    if (key.starts_with('^')) return key.substr(1) == module;
    if (!module.ends_with(key)) return false;
    return module.size() == key.size() || module[module.size() - key.size() - 1] == '.';
  }

  template <class Value>
  std::optional<Value> of_module(const Pattern<Value>& pattern, const char* name, const std::string& module) const {
    std::optional<Value> found;
    for (const auto& [key, value] : pattern) {
      if (!matches(key, module)) continue;
      if (found && *found != value) {  // PEFT takes the first in the file
        fail(ErrorCode::unsupported, where_, ": several keys of \"", name, "\" match module ",
             detail::quoted_name(module), " with different values; leave one");
      }
      found = value;
    }
    return found;
  }

  std::string where_;
  std::uint64_t rank_ = 0;
  double alpha_ = 0;
  bool rank_stabilized_ = false;
  Pattern<std::uint64_t> rank_pattern_;
  Pattern<double> alpha_pattern_;
};

}  // namespace tulle
