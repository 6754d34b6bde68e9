// SPDX-License-Identifier: Apache-2.0
/// \file Which quantized checkpoints of the compressed-tensors form can be read: int8 weights with a scale per row
/// (L3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/encoding/i8.hpp>
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
       "; use the unquantized model, or one saved as int-quantized with symmetric "
       "8-bit weights per channel");
}

inline void check_quantization_format(const std::string& format, std::string_view where) {
  if (format != "int-quantized" && format != "naive-quantized") {
    refuse_quantization(where, "quantization format " + quoted_name(format) + " is not supported");
  }
}

/// One entry of "config_groups": a scheme, or the name of a preset with a list of targets. Only the weights decide: how
/// activations are quantized is a matter of the kernel that runs them.
inline void check_quantization_group(const std::string& name, const Json& group, std::string_view where) {
  if (group.is_array()) {
    if (name != "W8A8" && name != "INT8_W8A8")
      refuse_quantization(where, "quantization preset " + quoted_name(name) + " is not supported");
    return;
  }
  if (!group.is_object())
    fail(ErrorCode::malformed, where, ": quantization group ", quoted_name(name), " is no object");
  const auto format = json_value(group, "format", std::string("int-quantized"), where);
  check_quantization_format(format, where);
  const Json* weights = filled_object(group, "weights", where);
  if (weights == nullptr) return;

  const auto refuse = [&](const std::string& what) {
    refuse_quantization(where, "quantization group " + quoted_name(name) + " has " + what);
  };
  const auto type = json_value(*weights, "type", std::string("int"), where);
  if (type != "int") refuse("weights of type " + quoted_name(type));
  const int bits = json_value(*weights, "num_bits", 8, where);
  if (bits != 8) refuse("weights of " + std::to_string(bits) + " bits");
  if (!json_value(*weights, "symmetric", true, where)) refuse("asymmetric weights");
  const int group_size = json_value(*weights, "group_size", -1, where);
  const auto strategy = json_value(*weights, "strategy", std::string(group_size > 0 ? "group" : "channel"), where);
  if (strategy != "channel" && strategy != "tensor") refuse("weights with a scale per " + quoted_name(strategy));
}

}  // namespace detail

/// Reads `quantization_config` (or `compression_config`, as compressed-tensors up to 0.6 wrote it) of a config.json.
/// After it an I8 tensor "P.weight" has its scales in "P.weight_scale": `check_int8_tensors`.
/// Errors: unsupported for every form but int8 per channel or tensor; malformed for wrong JSON types.
inline void check_quantization_config(const Json& config, std::string_view where) {
  const Json* outer = detail::filled_object(config, "compression_config", where);
  const Json* settings = detail::filled_object(config, "quantization_config", where);
  if (settings == nullptr && outer != nullptr) settings = detail::filled_object(*outer, "quantization_config", where);
  if (settings == nullptr) settings = outer;
  if (settings == nullptr) return;

  const auto method = json_value(*settings, "quant_method", std::string("compressed-tensors"), where);
  if (method != "compressed-tensors") {
    detail::refuse_quantization(where, "quantization method " + detail::quoted_name(method) + " is not supported");
  }
  if (detail::filled_object(*settings, "transform_config", where) != nullptr) {
    detail::refuse_quantization(where, "\"transform_config\" (rotated weights) is not supported");
  }
  for (const Json* holder : {settings, outer}) {
    const Json* sparsity = holder == nullptr ? nullptr : detail::filled_object(*holder, "sparsity_config", where);
    const auto format = sparsity == nullptr ? "dense" : json_value(*sparsity, "format", std::string("dense"), where);
    if (format != "dense") {
      fail(ErrorCode::unsupported, where, ": sparsity format ", detail::quoted_name(format),
           " is not supported; save the model with its zeros in place");
    }
  }
  const Json* groups = detail::filled_object(*settings, "config_groups", where);
  if (groups == nullptr) return;
  const auto format = json_value(*settings, "format", std::string("int-quantized"), where);
  if (format != "mixed-precision") detail::check_quantization_format(format, where);
  for (const auto& group : groups->items()) detail::check_quantization_group(group.key(), group.value(), where);
}

/// Whether the checkpoint needs activations with one scale per token: the "input_activations" of a group have the
/// strategy "token".
inline bool quantizes_activations_per_token(const Json& config) {
  const Json* settings = detail::filled_object(config, "quantization_config", "config");
  const Json* groups = settings == nullptr ? nullptr : detail::filled_object(*settings, "config_groups", "config");
  if (groups == nullptr) return false;
  for (const Json& group : *groups) {
    const Json* activations = group.is_object() ? detail::filled_object(group, "input_activations", "config") : nullptr;
    if (activations != nullptr && json_value(*activations, "strategy", std::string(), "config") == "token") return true;
  }
  return false;
}

/// Every I8 matrix "P.weight" [N, K] needs "P.weight_scale" of [N, 1], [N] or [1] floats.
/// Errors: not_found or malformed, naming the tensor.
inline void check_int8_tensors(const TensorSource& source, std::string_view where) {
  for (const std::string& name : source.names()) {
    const EncodedTensor& tensor = *source.find(name);
    if (tensor.dtype != DType::i8 || tensor.shape.size() != 2 || !name.ends_with(".weight")) continue;
    const EncodedTensor* scale = source.find(scale_name(name));
    if (scale == nullptr) {
      fail(ErrorCode::not_found, where, ": I8 tensor ", detail::quoted_name(name), " has no ",
           detail::quoted_name(scale_name(name)), "; is the checkpoint complete?");
    }
    const bool is_float = is_float_dtype(scale->dtype);
    const std::size_t rows = tensor.shape[0], count = scale->elements();
    const bool is_column = scale->shape.size() == 1 || (scale->shape.size() == 2 && scale->shape[1] == 1);
    const bool is_one = scale->shape.size() <= 1 && count == 1;
    if (!is_float || !(is_one || (is_column && count == rows))) {
      fail(ErrorCode::malformed, where, ": ", detail::quoted_name(scale_name(name)), " must hold ", rows,
           " floats (one per row) or one");
    }
  }
}

}  // namespace tulle
