// SPDX-License-Identifier: Apache-2.0
/// \file Which quantized checkpoints of the compressed-tensors form can be read: integers of 4 or 8 bits, floats of 8 (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/encoding/coded_rows.hpp>
#include <tulle/format/gptq_config.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

/// `object[key]` where that is an object with entries, else nullptr. Errors: malformed when it is no object.
inline const Json* filled_object(const Json& object, const char* key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return nullptr;
  if (!found->is_object()) fail(ErrorCode::malformed, where, ": \"", key, "\" is no object");
  return found->empty() ? nullptr : &*found;
}

[[noreturn]] inline void refuse_quantization(std::string_view where, const std::string& what) {
  fail(ErrorCode::unsupported, where, ": ", what,
       "; use the unquantized model, or one saved as int-quantized or pack-quantized with integer weights of 4 or 8 "
       "bits, float-quantized with 8 bits, or by GPTQ or AWQ");
}

inline void check_quantization_format(const std::string& format, std::string_view where) {
  if (format != "int-quantized" && format != "naive-quantized" && format != "pack-quantized" &&
      format != "float-quantized") {
    refuse_quantization(where, "quantization format " + quoted_name(format) + " is not supported");
  }
}

/// One entry of "config_groups": a scheme, or the name of a preset with a list of targets. Only the weights decide: how
/// activations are quantized is a matter of the kernel that runs them. Returns the columns that share a scale, or 0.
inline std::size_t quantization_group(const std::string& name, const Json& group, std::string_view where) {
  if (group.is_array()) {
    if (name == "W8A8" || name == "INT8_W8A8" || name == "W8A16" || name == "FP8" || name == "FP8_DYNAMIC") {
      return 0;
    }
    if (name == "W4A16" || name == "W4A16_ASYM" || name == "W4A8") return 128;
    refuse_quantization(where, "quantization preset " + quoted_name(name) + " is not supported");
  }
  if (!group.is_object())
    fail(ErrorCode::malformed, where, ": quantization group ", quoted_name(name), " is no object");
  const auto format = json_value(group, "format", std::string("int-quantized"), where);
  check_quantization_format(format, where);
  const Json* weights = filled_object(group, "weights", where);
  if (weights == nullptr) return 0;

  const auto refuse = [&](const std::string& what) {
    refuse_quantization(where, "quantization group " + quoted_name(name) + " has " + what);
  };
  const auto type = json_value(*weights, "type", std::string("int"), where);
  if (type != "int" && type != "float") refuse("weights of type " + quoted_name(type));
  const int bits = json_value(*weights, "num_bits", 8, where);
  if (bits != 8 && (bits != 4 || type != "int")) refuse(type + " weights of " + std::to_string(bits) + " bits");
  const int group_size = json_value(*weights, "group_size", -1, where);
  const auto strategy = json_value(*weights, "strategy", std::string(group_size > 0 ? "group" : "channel"), where);
  if (strategy == "channel" || strategy == "tensor") return 0;
  if (strategy != "group" || group_size <= 0) refuse("weights with a scale per " + quoted_name(strategy));
  return static_cast<std::size_t>(group_size);
}

/// The settings, and the object around them where there is one; nullptr for both where nothing is quantized.
inline std::pair<const Json*, const Json*> quantization_settings(const Json& config, std::string_view where) {
  const Json* outer = filled_object(config, "compression_config", where);
  const Json* settings = filled_object(config, "quantization_config", where);
  if (settings == nullptr && outer != nullptr) settings = filled_object(*outer, "quantization_config", where);
  return {settings == nullptr ? outer : settings, outer};
}

/// How the weights are quantized: "gptq", "awq" and so on; "" where they are not.
inline std::string quantization_method(const Json& config, std::string_view where) {
  const Json* settings = quantization_settings(config, where).first;
  if (settings == nullptr) return {};
  return json_value(*settings, "quant_method", std::string("compressed-tensors"), where);
}

/// Columns that share a scale, for every group of the config that says so.
inline std::vector<std::size_t> quantization_groups(const Json& config, std::string_view where) {
  const Json* settings = quantization_settings(config, where).first;
  const Json* groups = settings == nullptr ? nullptr : filled_object(*settings, "config_groups", where);
  std::vector<std::size_t> sizes;
  if (groups == nullptr) return sizes;
  for (const auto& group : groups->items()) sizes.push_back(quantization_group(group.key(), group.value(), where));
  return sizes;
}

}  // namespace detail

/// "quant_method" of our own sparse form (format/README.md), whose tensors say all that is needed.
inline constexpr std::string_view bitmask_method = "tulle-bitmask";

/// Reads `quantization_config` (or `compression_config`, as compressed-tensors up to 0.6 wrote it) of a config.json.
/// Its tensors are then looked at by `check_quantized_tensors`.
/// Errors: unsupported for every form but integer weights of 4 or 8 bits, floats of 8, both alone and sparse, GPTQ, AWQ
/// and MXFP4; malformed for wrong JSON types.
inline void check_quantization_config(const Json& config, std::string_view where) {
  const auto [settings, outer] = detail::quantization_settings(config, where);
  if (settings == nullptr) return;

  const std::string method = detail::quantization_method(config, where);
  if (method == bitmask_method || method == "mxfp4") return;  // of GPT-OSS: the tensors say all
  if (method == "gptq" || method == "awq") return check_gptq_config(*settings, method, where);
  if (method != "compressed-tensors") {
    detail::refuse_quantization(where, "quantization method " + detail::quoted_name(method) + " is not supported");
  }
  if (detail::filled_object(*settings, "transform_config", where) != nullptr) {
    detail::refuse_quantization(where, "\"transform_config\" (rotated weights) is not supported");
  }
  for (const Json* holder : {settings, outer}) {
    const Json* sparsity = holder == nullptr ? nullptr : detail::filled_object(*holder, "sparsity_config", where);
    const auto format = sparsity == nullptr ? "dense" : json_value(*sparsity, "format", std::string("dense"), where);
    if (format != "dense" && format != "sparse-bitmask" && format != "sparse-24-bitmask") {
      fail(ErrorCode::unsupported, where, ": sparsity format ", detail::quoted_name(format),
           " is not supported; save the model with its zeros in place");
    }
  }
  const auto format = json_value(*settings, "format", std::string("int-quantized"), where);
  if (!detail::quantization_groups(config, where).empty() && format != "mixed-precision") {
    detail::check_quantization_format(format, where);
  }
}

namespace detail {

/// Whether the "input_activations" of a group have the strategy "token".
inline bool declares_activations_per_token(const Json& config) {
  const Json* settings = detail::filled_object(config, "quantization_config", "config");
  const Json* groups = settings == nullptr ? nullptr : detail::filled_object(*settings, "config_groups", "config");
  if (groups == nullptr) return false;
  for (const Json& group : *groups) {
    const Json* activations = group.is_object() ? detail::filled_object(group, "input_activations", "config") : nullptr;
    if (activations == nullptr || json_value(*activations, "type", std::string("int"), "config") != "int") continue;
    if (json_value(*activations, "strategy", std::string(), "config") == "token") return true;
  }
  return false;
}

}  // namespace detail

/// Key of a config whose quantized activations may have a scale per group of columns, although it declares one per
/// token for other programs. Its value is "group".
inline constexpr const char* activation_scales_key = "tulle_activation_scales";

/// Whether the checkpoint needs activations with one scale per token: the "input_activations" of a group have the
/// strategy "token", and the config does not allow finer ones.
inline bool quantizes_activations_per_token(const Json& config) {
  return detail::declares_activations_per_token(config) &&
         json_value(config, activation_scales_key, std::string(), "config") != "group";
}

/// Every I8 matrix "P.weight" [N, K], every F8 one where the config has groups, and every packed one "P.weight_packed"
/// needs "P.weight_scale": floats [N, groups], [N] or one, where `columns / groups` is what the config says. Their values
/// are read with the matrix.
/// Errors: not_found, malformed or unsupported, naming the tensor.
inline void check_quantized_tensors(const TensorSource& source, const Json& config, std::string_view where) {
  const std::vector<std::size_t> known = detail::quantization_groups(config, where);
  const bool is_bitmask = detail::quantization_method(config, where) == bitmask_method;
  for (const std::string& name : source.names()) {
    const EncodedTensor& tensor = *source.find(name);
    const bool is_float = !known.empty() && is_f8_dtype(tensor.dtype);
    const bool is_plain =
        (tensor.dtype == DType::i8 || is_float) && tensor.shape.size() == 2 && name.ends_with(".weight");
    const bool is_packed = name.ends_with(".weight_packed");
    if (!is_plain && !is_packed) continue;
    const std::string weight = is_plain ? name : name.substr(0, name.rfind('_'));
    const detail::Sizes shape =
        is_plain ? detail::Sizes{tensor.shape[0], tensor.shape[1]}
                 : detail::read_sizes(source, detail::find_beside(source, weight + "_shape", tensor), 2);
    const EncodedTensor& scale = detail::find_beside(source, scale_name(weight), tensor);
    const std::size_t groups = detail::scales_in_row(scale, shape[0]);
    if (groups == 1 ||
        (shape[1] % groups == 0 && (is_bitmask || std::count(known.begin(), known.end(), shape[1] / groups) != 0))) {
      continue;
    }
    detail::fail_tensor(scale, "has groups of another size than the config says; a row must be whole groups",
                        ErrorCode::unsupported);
  }
}

}  // namespace tulle
