// SPDX-License-Identifier: Apache-2.0
/// \file Reads the arguments of modifiers that quantize or smooth (L5).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/modifier.hpp>
#include <tulle/compress/modifier_reader.hpp>
#include <tulle/compress/quantization_scheme.hpp>
#include <tulle/compress/recipe_arguments.hpp>

namespace tulle::detail {

/// Reads QuantizationModifier and GPTQModifier: the form of SparseML 1.7 (`scheme_overrides`; all that is not ignored
/// is quantized, embeddings too), which is the only one of SparseML 1.8's LegacyQuantizationModifier, or that of
/// llm-compressor (`config_groups`, or `scheme` and `targets`).
class QuantizationReader {
 public:
  QuantizationReader(const RecipeArguments& arguments, std::vector<std::string>& notes)
      : arguments_(arguments), notes_(notes) {}

  QuantizationModifier read_nearest(bool is_legacy = false) {
    arguments_.require_known(
        quantization_arguments({"scheme_overrides"}),
        with_common_arguments(ignored({"post_oneshot_calibration", "strict", "disable_quantization_observer_epoch",
                                       "freeze_bn_stats_epoch", "model_fuse_fn_name", "model_fuse_fn_kwargs"})),
        notes_);
    QuantizationModifier modifier;
    modifier.target = classic_target(false, 0);
    const YamlNode* scheme = arguments_.find("scheme");
    const bool is_default = scheme == nullptr || (scheme->is_scalar() && is_sparseml_scheme(scheme->text)) ||
                            (scheme->is_mapping() && is_scheme(*scheme));
    const bool is_sparseml =
        arguments_.find("config_groups") == nullptr && arguments_.find("targets") == nullptr && is_default;
    if (is_legacy && !is_sparseml) {
      fail_at(ErrorCode::invalid_argument, arguments_.where(), arguments_.node().line, arguments_.owner(),
              " has SparseML's scheme and scheme_overrides; presets, targets and config_groups are of "
              "QuantizationModifier");
    }
    if (is_sparseml) {
      read_sparseml(scheme, modifier);
    } else if (const YamlNode* overrides = arguments_.find("scheme_overrides")) {
      arguments_.reject("scheme_overrides", *overrides, "cannot stand beside config_groups, targets or a preset");
    } else {
      read_compressed_tensors(modifier);
    }
    finish(modifier);
    return modifier;
  }

  QuantizationModifier read_gptq() {
    arguments_.require_known(
        quantization_arguments({"dampening_frac", "percdamp", "sequential_update", "actorder", "quantize"}),
        with_common_arguments(ignored({"block_size", "sequential_targets", "batched_quantization"})), notes_);
    arguments_.integer("block_size", 128, 1, 1 << 20);
    QuantizationModifier modifier;
    modifier.method = QuantizationMethod::gptq;
    modifier.target = classic_target(arguments_.flag("sequential_update", false), read_damping(arguments_));
    SchemeReader(Style::compressed_tensors, arguments_.where(), notes_).note_order(arguments_);
    if (!arguments_.flag("quantize", true)) {
      arguments_.reject("quantize", *arguments_.find("quantize"), "must be true");
    }
    read_compressed_tensors(modifier);
    finish(modifier);
    return modifier;
  }

  /// Tulle's own codes, as `--bits` makes them.
  QuantizationModifier read_descent() {
    arguments_.require_known(Names{"config_groups", "targets", "ignore", "scheme"}, with_common_arguments({}), notes_);
    QuantizationModifier modifier;
    modifier.method = QuantizationMethod::descent;
    read_compressed_tensors(modifier);
    finish(modifier);
    return modifier;
  }

 private:
  using Style = SchemeReader::Style;

  static Names quantization_arguments(Names own) {
    for (const std::string_view each :
         {"config_groups", "targets", "ignore", "scheme", "weight_observer", "observer", "kv_cache_scheme"}) {
      own.push_back(each);
    }
    return own;
  }
  static Names ignored(Names own) {
    for (const std::string_view each : {"input_observer", "output_observer", "bypass_divisibility_checks"}) {
      own.push_back(each);
    }
    return own;
  }

  static bool is_sparseml_scheme(std::string_view name) {
    return name == "default" || name == "deepsparse" || name == "tensorrt";
  }
  static bool is_scheme(const YamlNode& node) {
    return node.find("weights") != nullptr || node.find("input_activations") != nullptr ||
           node.find("output_activations") != nullptr;
  }

  RecipeTarget target(const YamlNode& node) const {
    return {node.text, std::string(arguments_.where()) + ", line " + std::to_string(node.line)};
  }

  void read_sparseml(const YamlNode* scheme, QuantizationModifier& modifier) {
    SchemeReader reader(Style::sparseml, arguments_.where(), notes_);
    bool is_replaced = false;  // the default for linear layers
    if (const YamlNode* overrides = arguments_.find("scheme_overrides")) {
      const RecipeArguments entries(*overrides, "scheme_overrides of " + arguments_.owner(), arguments_.where());
      for (std::size_t i = 0; i < overrides->keys.size(); ++i) {
        const YamlNode& name = overrides->keys[i];
        is_replaced = is_replaced || name.text == "Linear";
        QuantizationGroup group;
        group.targets.push_back(target(name));
        group.may_match_nothing = true;
        if (!overrides->items[i].is_null()) {
          const std::string printable = quoted_name(name.text);
          group.weights =
              reader.scheme(overrides->items[i], "scheme_overrides." + printable.substr(1, printable.size() - 2));
        }
        modifier.groups.push_back(std::move(group));
      }
    }
    QuantizationGroup rest;
    rest.targets.emplace_back("Linear", arguments_.where());
    rest.targets.emplace_back("Embedding", arguments_.where());
    rest.may_match_nothing = true;
    if (scheme != nullptr && scheme->is_mapping()) {
      rest.weights = reader.scheme(*scheme, "scheme of " + arguments_.owner());
    } else {
      std::vector<std::string> unused;
      SchemeReader silent(Style::sparseml, arguments_.where(), unused);
      SchemeReader& defaults = is_replaced ? silent : reader;
      rest.weights = defaults.default_weights(arguments_.node().line, arguments_.owner());
      defaults.note_activations(arguments_.node().line, arguments_.owner(), "asymmetric and static");
    }
    modifier.groups.push_back(std::move(rest));
  }

  void read_compressed_tensors(QuantizationModifier& modifier) {
    SchemeReader reader(Style::compressed_tensors, arguments_.where(), notes_);
    const YamlNode* groups = arguments_.find("config_groups");
    const YamlNode* scheme = arguments_.find("scheme");
    if (groups != nullptr && scheme != nullptr) {
      arguments_.reject("config_groups", *groups, "cannot stand beside scheme");
    }
    if (const YamlNode* targets = arguments_.find("targets"); groups != nullptr && targets != nullptr) {
      add_note(notes_, "line " + std::to_string(targets->line) + ": " + arguments_.owner() +
                           ": targets: those of config_groups hold");
    }
    if (groups != nullptr) return read_groups(*groups, reader, modifier);
    if (scheme == nullptr) {
      fail_at(ErrorCode::invalid_argument, arguments_.where(), arguments_.node().line, arguments_.owner(),
              " has neither a scheme nor config_groups; write scheme: W8A8 or W4A16");
    }
    if (scheme->is_mapping() && !is_scheme(*scheme)) {  // {preset: [targets]}
      for (std::size_t i = 0; i < scheme->keys.size(); ++i) {
        add_preset(scheme->keys[i], scheme->items[i], "scheme", reader, modifier);
      }
      return;
    }
    QuantizationGroup group;
    group.targets = read_targets(arguments_, "targets");
    if (group.targets.empty()) group.targets.emplace_back("Linear", arguments_.where());
    if (!scheme->is_scalar() && !scheme->is_mapping()) {
      arguments_.reject("scheme", *scheme, "must be the name of a preset or a mapping");
    }
    group.weights = scheme->is_scalar() ? reader.preset(*scheme, arguments_.owner())
                                        : reader.scheme(*scheme, "scheme of " + arguments_.owner());
    modifier.groups.push_back(std::move(group));
  }

  void add_preset(const YamlNode& name, const YamlNode& targets, std::string_view key, SchemeReader& reader,
                  QuantizationModifier& modifier) {
    QuantizationGroup group;
    for (const YamlNode* each : arguments_.texts_of(key, targets)) group.targets.push_back(target(*each));
    if (group.targets.empty()) arguments_.reject(key, targets, "needs targets for ", quoted_name(name.text));
    group.weights = reader.preset(name, arguments_.owner());
    modifier.groups.push_back(std::move(group));
  }

  void read_groups(const YamlNode& groups, SchemeReader& reader, QuantizationModifier& modifier) {
    if (!groups.is_mapping()) arguments_.reject("config_groups", groups, "must be a mapping of named groups");
    for (std::size_t i = 0; i < groups.keys.size(); ++i) {
      const YamlNode& name = groups.keys[i];
      const YamlNode& value = groups.items[i];
      if (!value.is_mapping()) {
        add_preset(name, value, "config_groups", reader, modifier);
        continue;
      }
      const std::string printable = quoted_name(name.text);
      const RecipeArguments entry(value, "config_groups." + printable.substr(1, printable.size() - 2),
                                  arguments_.where());
      QuantizationGroup group;
      group.targets = read_targets(entry, "targets");
      if (group.targets.empty()) {
        fail_at(ErrorCode::invalid_argument, arguments_.where(), name.line, entry.owner(), " has no targets");
      }
      group.weights = reader.scheme(value, entry.owner(), "targets");
      modifier.groups.push_back(std::move(group));
    }
    if (groups.keys.empty()) arguments_.reject("config_groups", groups, "must not be empty");
  }

  /// What concerns all groups.
  void finish(QuantizationModifier& modifier) {
    modifier.ignore = read_targets(arguments_, "ignore");
    if (const YamlNode* cache = arguments_.find("kv_cache_scheme")) {
      add_note(notes_, "line " + std::to_string(cache->line) + ": " + arguments_.owner() +
                           ": kv_cache_scheme: keys and values have the type that --cache-dtype gives");
    }
    bool searches = false;
    const SchemeReader reader(Style::compressed_tensors, arguments_.where(), notes_);
    if (const YamlNode* observer = arguments_.find("observer"); observer != nullptr && observer->is_mapping()) {
      const RecipeArguments parts(*observer, "observer of " + arguments_.owner(), arguments_.where());
      parts.require_known(Names{"weights"}, Names{"input", "output", "input_activations", "output_activations"},
                          notes_);
      searches = reader.observer_searches(parts.text("weights", "minmax"), observer->line, parts.owner());
    } else if (observer != nullptr) {
      searches = reader.observer_searches(arguments_.text("observer", ""), observer->line, arguments_.owner());
    }
    if (const YamlNode* weights = arguments_.find("weight_observer")) {
      searches = reader.observer_searches(arguments_.text("weight_observer", ""), weights->line, arguments_.owner());
    }
    for (QuantizationGroup& group : modifier.groups) {
      if (!group.weights) continue;
      group.weights->method = modifier.method;
      group.weights->searches_scale =
          group.weights->searches_scale || searches || modifier.method == QuantizationMethod::descent;
    }
  }

  const RecipeArguments& arguments_;
  std::vector<std::string>& notes_;
};

/// SmoothQuantModifier; `is_logarithmic` for LogarithmicEqualizationModifier. A mapping is [[balanced...], smoothed]
/// or {balance_layers, smooth_layer}.
inline SmoothQuantModifier read_smooth_quant(const RecipeArguments& arguments, bool is_logarithmic,
                                             std::vector<std::string>& notes) {
  arguments.require_known(Names{"smoothing_strength", "alpha", "mappings", "ignore", "algorithm"},
                          with_common_arguments({"calibration_function"}), notes);
  SmoothQuantModifier modifier;
  const YamlNode* alias = arguments.find("alpha");
  if (alias != nullptr && arguments.find("smoothing_strength") != nullptr) {
    arguments.reject("alpha", *alias, "is another name of smoothing_strength: give one of them");
  }
  modifier.strength = arguments.number(alias != nullptr ? "alpha" : "smoothing_strength", 0.5, 0, 1);
  const std::string algorithm = arguments.text("algorithm", is_logarithmic ? "log_equalization" : "smoothquant");
  modifier.is_logarithmic = algorithm == "log_equalization";
  if (!modifier.is_logarithmic && algorithm != "smoothquant") {
    arguments.reject("algorithm", *arguments.find("algorithm"), "must be smoothquant or log_equalization");
  }
  modifier.ignore = read_targets(arguments, "ignore");
  const YamlNode* mappings = arguments.find("mappings");
  if (mappings == nullptr) return modifier;
  if (!mappings->is_sequence() || mappings->items.empty()) {
    arguments.reject("mappings", *mappings, "must be a list of [[balanced layers], smoothed layer]");
  }
  for (const YamlNode& each : mappings->items) {
    const YamlNode* balanced = each.is_mapping() ? each.find("balance_layers") : nullptr;
    const YamlNode* smoothed = each.is_mapping() ? each.find("smooth_layer") : nullptr;
    if (each.is_mapping()) {
      const RecipeArguments entry(each, "mappings of " + arguments.owner(), arguments.where());
      entry.require_known(Names{"balance_layers", "smooth_layer"}, {}, notes);
    }
    if (each.is_sequence() && each.items.size() == 2) {
      balanced = &each.items[0];
      smoothed = &each.items[1];
    }
    if (balanced == nullptr || smoothed == nullptr) {
      arguments.reject("mappings", each, "must be a list of [[balanced layers], smoothed layer]");
    }
    SmoothQuantModifier::Mapping mapping;
    const auto read = [&](const YamlNode& names, std::vector<RecipeTarget>& targets) {
      for (const YamlNode* name : arguments.texts_of("mappings", names)) {
        targets.emplace_back(name->text, std::string(arguments.where()) + ", line " + std::to_string(name->line));
      }
      if (targets.empty()) arguments.reject("mappings", names, "must not be empty");
    };
    read(*balanced, mapping.balanced);
    read(*smoothed, mapping.smoothed);
    modifier.mappings.push_back(std::move(mapping));
  }
  return modifier;
}

}  // namespace tulle::detail
