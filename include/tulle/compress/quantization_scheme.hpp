// SPDX-License-Identifier: Apache-2.0
/// \file Quantization schemes of recipes: presets, config_groups and SparseML's scheme_overrides (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/recipe_arguments.hpp>
#include <tulle/compress/recipe_targets.hpp>

namespace tulle {

/// Modules that are quantized alike.
struct QuantizationGroup {
  std::vector<RecipeTarget> targets;
  std::optional<QuantizationPlan> weights;  ///< none: they stay as they are
  bool may_match_nothing = false;           ///< SparseML's recipes also name classes without weights
};

namespace detail {

/// Appends a note that is not there yet.
inline void add_note(std::vector<std::string>& notes, std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

/// A preset of compressed-tensors (quant_scheme.py); floating-point ones have 0 bits here.
struct QuantizationPreset {
  std::string_view name;
  std::size_t bits, group;
  bool symmetric, quantizes_activations;
};
inline constexpr std::array quantization_presets{QuantizationPreset{"W8A8", 8, 0, true, true},
                                                 QuantizationPreset{"INT8", 8, 0, true, true},
                                                 QuantizationPreset{"W8A16", 8, 0, true, false},
                                                 QuantizationPreset{"W4A16", 4, 128, true, false},
                                                 QuantizationPreset{"W4A16_ASYM", 4, 128, false, false},
                                                 QuantizationPreset{"W4A8", 4, 128, true, true},
                                                 QuantizationPreset{"FP8", 0, 0, true, true},
                                                 QuantizationPreset{"FP8_DYNAMIC", 0, 0, true, true},
                                                 QuantizationPreset{"FP8_BLOCK", 0, 0, true, true},
                                                 QuantizationPreset{"NVFP4", 0, 0, true, true},
                                                 QuantizationPreset{"NVFP4A16", 0, 0, true, false},
                                                 QuantizationPreset{"MXFP4", 0, 0, true, true},
                                                 QuantizationPreset{"MXFP8", 0, 0, true, true}};

/// Reads schemes for one modifier. What cannot be kept becomes a note. Plans have the method `nearest`.
/// Errors: invalid_argument, unsupported, with the line.
class SchemeReader {
 public:
  /// What an absent key means: SparseML 1.7 quantizes weights asymmetrically and activations to int8, asymmetric and
  /// static; compressed-tensors weights symmetrically and activations not at all.
  enum class Style { sparseml, compressed_tensors };

  SchemeReader(Style style, std::string_view where, std::vector<std::string>& notes)
      : style_(style), where_(where), notes_(notes) {}

  /// A scheme by its name, in any case. `node` names the line.
  std::optional<QuantizationPlan> preset(const YamlNode& node, const std::string& owner) {
    std::string name = node.text;
    for (char& byte : name) byte = byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
    if (name == "UNQUANTIZED") return std::nullopt;
    std::vector<std::string_view> known;
    for (const QuantizationPreset& each : quantization_presets) {
      if (each.bits != 0) known.push_back(each.name);
      if (each.name != name) continue;
      if (each.bits == 0) {
        fail_at(ErrorCode::unsupported, where_, node.line, "scheme ", each.name, " of ", owner,
                " has floating-point codes; int8 and int4 are available (W8A8, W4A16)");
      }
      if (each.bits == 8 && !each.quantizes_activations) note_activations(node.line, owner, "not quantized");
      if (each.bits == 4 && each.quantizes_activations) {
        add_note(notes_, at_line(node.line) + owner + ": " + std::string(each.name) +
                             ": only weights are quantized; --kernel says how activations are multiplied");
      }
      return plan(each.bits, each.group, each.symmetric);
    }
    fail_at(ErrorCode::invalid_argument, where_, node.line, "unknown scheme ", quoted_name(node.text), " of ", owner,
            suggestion(name, known));
  }

  /// A scheme as a mapping {weights, input_activations, output_activations}. The key `also_known`, if any, is the caller's.
  std::optional<QuantizationPlan> scheme(const YamlNode& node, const std::string& owner,
                                         std::string_view also_known = {}) {
    const RecipeArguments arguments(node, owner, where_);
    std::vector<std::string_view> known{"weights", "input_activations", "output_activations"};
    if (!also_known.empty()) known.push_back(also_known);
    constexpr std::array<std::string_view, 1> without_meaning{"format"};
    arguments.require_known(known, without_meaning, notes_);
    const bool is_sparseml = style_ == Style::sparseml;
    std::optional<QuantizationPlan> weights;
    if (const YamlNode* given = arguments.find("weights")) {
      weights = read_weights(RecipeArguments(*given, "weights of " + owner, where_));
    } else if (is_sparseml && node.find("weights") == nullptr) {
      weights = default_weights(node.line, owner);
    }
    if (const YamlNode* given = arguments.find("input_activations")) {
      read_activations(RecipeArguments(*given, "input_activations of " + owner, where_));
    } else if (is_sparseml && node.find("input_activations") == nullptr) {
      note_activations(node.line, owner, "asymmetric and static");
    } else if (weights && weights->bits == 8 && owner.find("Embedding") == std::string::npos) {
      note_activations(node.line, owner, "not quantized");
    }
    if (arguments.find("output_activations") != nullptr) {
      add_note(notes_, at_line(node.line) + owner + ": output activations stay in floating point");
    }
    return weights;
  }

  /// SparseML 1.7's weights where a scheme does not say: 8 bits, symmetric.
  QuantizationPlan default_weights(std::size_t line, const std::string& owner) {
    note_per_row(line, owner);
    return plan(8, 0, true);
  }

  void note_activations(std::size_t line, const std::string& owner, std::string_view what) {
    add_note(notes_,
             at_line(line) + owner + ": input activations are " + std::string(what) +
                 " in the recipe; here they are int8, symmetric, with scales that are found while the model runs");
  }

  /// `actorder`: GPTQ's order of columns, a name or whether there is one.
  void note_order(const RecipeArguments& arguments) {
    const YamlNode* order = arguments.find("actorder");
    if (order == nullptr) return;
    constexpr std::array<std::string_view, 5> known{"group", "weight", "static", "dynamic", "g_idx"};
    const std::string name = arguments.text("actorder", "");
    if (!order->boolean() && std::find(known.begin(), known.end(), name) == known.end()) {
      arguments.reject("actorder", *order, "must be static, group or weight, not ", quoted_name(name));
    }
    add_note(notes_, at_line(order->line) + arguments.owner() + ": actorder: columns are quantized in their own order");
  }

 private:
  static constexpr std::array<std::string_view, 11> argument_names{
      "num_bits", "type",     "symmetric",   "strategy", "group_size",     "dynamic",
      "actorder", "observer", "scale_dtype", "zp_dtype", "block_structure"};

  static QuantizationPlan plan(std::size_t bits, std::size_t group, bool symmetric) {
    return {QuantizationMethod::nearest, bits, group, symmetric, false, false};
  }

  static std::string at_line(std::size_t line) { return "line " + std::to_string(line) + ": "; }

  void note_per_row(std::size_t line, const std::string& owner) {
    add_note(notes_, at_line(line) + owner + ": one scale per row in place of one per matrix");
  }

  void require_known(const RecipeArguments& arguments) {
    constexpr std::array<std::string_view, 2> without_meaning{"kwargs", "observer_kwargs"};
    arguments.require_known(argument_names, without_meaning, notes_);
  }

  std::size_t read_bits(const RecipeArguments& arguments) {
    const std::string type = arguments.text("type", "int");
    if (type == "float") {
      fail_at(ErrorCode::unsupported, where_, arguments.node().line, "type of ", arguments.owner(),
              " is \"float\"; only \"int\" is available");
    }
    if (type != "int") arguments.reject("type", *arguments.find("type"), "must be int");
    return static_cast<std::size_t>(arguments.integer("num_bits", 8, 1, 16));
  }

  QuantizationPlan read_weights(const RecipeArguments& arguments) {
    require_known(arguments);
    const std::size_t line = arguments.node().line;
    const std::size_t bits = read_bits(arguments);
    if (bits != 8 && bits != 4) {
      fail_at(ErrorCode::unsupported, where_, line, "num_bits of ", arguments.owner(), " is ", bits,
              "; available are 8 and 4");
    }
    if (const YamlNode* dynamic = arguments.find("dynamic"); dynamic && dynamic->boolean() != false) {
      arguments.reject("dynamic", *dynamic, "must be false: weights do not change");
    }
    QuantizationPlan weights = plan(bits, read_group(arguments), true);
    weights.symmetric = arguments.flag("symmetric", style_ == Style::compressed_tensors);
    if (!weights.symmetric && bits == 8) {
      weights.symmetric = true;
      add_note(notes_, at_line(line) + arguments.owner() + ": 8-bit codes are symmetric here, without a zero point");
    }
    weights.searches_scale = searches_scale(arguments);
    note_order(arguments);
    return weights;
  }

  /// Columns that share a scale, 0 for a row.
  std::size_t read_group(const RecipeArguments& arguments) {
    const YamlNode* given = arguments.find("group_size");
    const long long size = arguments.integer("group_size", 0, -1, 1 << 20);
    const bool has_group = given != nullptr && size > 0;
    const std::string strategy = arguments.text("strategy", has_group ? "group" : size < 0 ? "channel" : "tensor");
    if (strategy == "channel" || strategy == "tensor") {
      if (has_group) arguments.reject("group_size", *given, "needs the strategy group");
      if (strategy == "tensor") note_per_row(arguments.node().line, arguments.owner());
      return 0;
    }
    constexpr std::array<std::string_view, 3> known{"tensor", "channel", "group"};
    if (strategy != "group") {
      const bool is_other =
          strategy == "block" || strategy == "token" || strategy == "tensor_group" || strategy == "attn_head";
      fail_at(is_other ? ErrorCode::unsupported : ErrorCode::invalid_argument, where_, arguments.node().line,
              is_other ? "strategy " : "unknown strategy ", quoted_name(strategy), " of ", arguments.owner(),
              is_other ? " is not available; known are tensor, channel, group" : suggestion(strategy, known));
    }
    if (size != 32 && size != 64 && size != 128) {
      fail_at(ErrorCode::unsupported, where_, arguments.node().line, "group_size of ", arguments.owner(), " is ", size,
              "; available are 32, 64 and 128");
    }
    return static_cast<std::size_t>(size);
  }

  bool searches_scale(const RecipeArguments& arguments) {
    const std::string observer = arguments.text("observer", "minmax");
    return observer_searches(observer, arguments.node().line, arguments.owner());
  }

 public:
  /// Whether an observer of weights finds scales of least error. Errors: invalid_argument for an unknown name.
  bool observer_searches(const std::string& observer, std::size_t line, const std::string& owner) const {
    constexpr std::array<std::string_view, 7> known{"mse",           "memoryless_mse",    "imatrix_mse", "minmax",
                                                    "static_minmax", "memoryless_minmax", "min_max"};
    const auto found = std::find(known.begin(), known.end(), observer);
    if (found == known.end()) {
      fail_at(ErrorCode::invalid_argument, where_, line, "unknown observer ", quoted_name(observer), " of ", owner,
              suggestion(observer, known));
    }
    return found - known.begin() < 3;
  }

 private:
  void read_activations(const RecipeArguments& arguments) {
    require_known(arguments);
    const std::size_t bits = read_bits(arguments);
    if (bits != 8) {
      fail_at(ErrorCode::unsupported, where_, arguments.node().line, "num_bits of ", arguments.owner(), " is ", bits,
              "; activations have 8");
    }
    const bool is_symmetric = arguments.flag("symmetric", style_ == Style::compressed_tensors);
    const bool is_dynamic = arguments.flag("dynamic", false);
    const std::string strategy = arguments.text("strategy", "token");
    constexpr std::array<std::string_view, 4> known{"token", "tensor", "channel", "group"};
    if (std::find(known.begin(), known.end(), strategy) == known.end()) {
      fail_at(ErrorCode::invalid_argument, where_, arguments.node().line, "unknown strategy ", quoted_name(strategy),
              " of ", arguments.owner(), suggestion(strategy, known));
    }
    arguments.integer("group_size", 0, -1, 1 << 20);
    if (is_dynamic && strategy != "token") {
      add_note(notes_, at_line(arguments.node().line) + arguments.owner() + ": strategy " + strategy +
                           ": activations of each token have one scale");
    }
    if (is_symmetric && is_dynamic) return;
    note_activations(arguments.node().line, arguments.owner(),
                     is_symmetric ? "static"
                     : is_dynamic ? "asymmetric"
                                  : "asymmetric and static");
  }

  Style style_;
  std::string_view where_;
  std::vector<std::string>& notes_;
};

/// The entries of `targets` or `ignore` of a modifier or group; empty where the key is absent.
inline std::vector<RecipeTarget> read_targets(const RecipeArguments& arguments, std::string_view key) {
  std::vector<RecipeTarget> targets;
  for (const YamlNode* node : arguments.texts(key)) {
    targets.emplace_back(node->text, std::string(arguments.where()) + ", line " + std::to_string(node->line));
  }
  return targets;
}

}  // namespace detail

}  // namespace tulle
