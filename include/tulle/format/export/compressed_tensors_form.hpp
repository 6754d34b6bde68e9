// SPDX-License-Identifier: Apache-2.0
/// \file A model in the form of compressed-tensors, for transformers and vLLM (L3).
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/format/compressed_tensors.hpp>
#include <tulle/format/export/export_notes.hpp>
#include <tulle/format/export/matrix_tensors.hpp>
#include <tulle/format/export/model_parts.hpp>
#include <tulle/format/output_tensor.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// Tensors and the config that describes them.
struct ExportedForm {
  std::vector<OutputTensor> tensors;
  Json config;
  ExportNotes notes;  ///< what differs from the model
};

namespace detail {

/// How a matrix is quantized in this form.
struct CodeScheme {
  std::size_t bits = 0;   // 4 or 8; 0: not at all
  std::size_t group = 0;  // columns that share a scale; 0: a row
  bool packed = false;    // pack-quantized, else int-quantized
  bool symmetric = true;  // else with zero points; these only where packed

  auto operator<=>(const CodeScheme&) const = default;
};

/// `weights_only`: int8 with a scale per row is packed, too: activations then stay floats.
inline CodeScheme scheme_of(const TensorSource& source, const MatrixPart& part, bool weights_only) {
  const CodeFormat& format = part.format;
  const bool whole_groups = format.group == 0 || part.columns % format.group == 0;
  if (format.bits == 0 || format.bits > 8 || part.is_table || !whole_groups) return {};
  const std::size_t group = format.group == part.columns ? 0 : format.group, bits = format.bits <= 4 ? 4 : 8;
  if (format.has_minimums && !has_zero_points(source, part, bits)) return {};
  return {bits, group, format.has_minimums || bits == 4 || group != 0 || weights_only, !format.has_minimums};
}

/// The type of a matrix that is not quantized in this form. Codes become 16-bit floats: those of the model, else F16.
inline DType float_type_of(const MatrixPart& part, const Json& config) {
  if (part.format.bits == 0) return part.format.floats;
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (json_value(config, key, std::string(), "config.json") == "bfloat16") return DType::bf16;
  }
  return DType::f16;
}

inline Json quantization_arguments(std::size_t bits, bool symmetric, const char* strategy, Json group, bool dynamic) {
  return {{"num_bits", bits},
          {"type", "int"},
          {"symmetric", symmetric},
          {"strategy", strategy},
          {"group_size", std::move(group)},
          {"dynamic", dynamic},
          {"actorder", nullptr},
          {"block_structure", nullptr},
          {"observer", dynamic ? Json() : Json("minmax")},
          {"observer_kwargs", Json::object()}};
}

inline Json scheme_config(const CodeScheme& scheme, Json targets) {
  const Json weights = quantization_arguments(scheme.bits, scheme.symmetric, scheme.group == 0 ? "channel" : "group",
                                              scheme.group == 0 ? Json() : Json(scheme.group), false);
  return {{"targets", std::move(targets)},
          {"weights", weights},
          {"input_activations", scheme.packed ? Json() : quantization_arguments(8, true, "token", nullptr, true)},
          {"output_activations", nullptr}};
}

inline const char* scheme_format(const CodeScheme& scheme) {
  return scheme.packed ? "pack-quantized" : "int-quantized";
}

/// "quantization_config" of a model whose schemes have these layers. Keys that only some versions of compressed-tensors
/// know are left out; unknown ones are errors there.
inline Json compressed_tensors_config(const std::map<CodeScheme, std::vector<std::string>>& schemes,
                                      const std::vector<std::string>& unquantized) {
  Json groups = Json::object();
  const bool mixed = schemes.size() > 1;
  for (const auto& [scheme, layers] : schemes) {
    Json group = scheme_config(scheme, mixed ? Json(layers) : Json::array({"Linear"}));
    if (mixed) group["format"] = scheme_format(scheme);
    groups["group_" + std::to_string(groups.size())] = std::move(group);
  }
  return {{"quant_method", "compressed-tensors"},
          {"version", "0.18.0"},
          {"format", mixed ? "mixed-precision" : scheme_format(schemes.begin()->first)},
          {"quantization_status", "compressed"},
          {"config_groups", std::move(groups)},
          {"ignore", unquantized},
          {"kv_cache_scheme", nullptr},
          {"global_compression_ratio", nullptr},
          {"sparsity_config", Json::object()},
          {"transform_config", Json::object()}};
}

}  // namespace detail

/// Zeros stay in place. int8 with a scale per row becomes int-quantized with activations quantized per token;
/// other codes become pack-quantized, of 4 or 8 bits. Everything else becomes floats: embeddings and heads, codes whose
/// minimums are no multiples of the scale, and rows that are no whole number of groups. Scales are F32: a reader multiplies in their type.
/// compressed-tensors has no group scales for activations beside such weights. Where the model does not itself ask for
/// activations per token, the config allows Tulle finer ones (`activation_scales_key`).
/// `config`: the model's. Lifetime: that of the source. Errors: those of the source.
inline ExportedForm compressed_tensors_form(const TensorSource& source, const Json& config) {
  ExportedForm form;
  form.config = config;
  form.config.erase("compression_config");
  form.config.erase("quantization_config");
  const std::string method = detail::quantization_method(config, "config.json");
  const bool weights_only =
      method == "gptq" || method == "awq" ||
      (!detail::quantization_groups(config, "config.json").empty() && !detail::declares_activations_per_token(config));
  const ModelParts parts = model_parts(source, config);
  std::map<detail::CodeScheme, std::vector<std::string>> schemes;
  std::vector<std::string> unquantized{"lm_head"};  // a tied head is a layer, too
  for (const MatrixPart& part : parts.matrices) {
    const detail::CodeScheme scheme = detail::scheme_of(source, part, weights_only);
    if (scheme.bits == 0) {
      const DType dtype = detail::float_type_of(part, config);
      form.tensors.push_back(float_tensor(source, part, dtype));
      if (part.name != "lm_head") unquantized.push_back(part.name);
      if (part.format.bits != 0) {
        form.notes.about(part.name, "codes of " + std::to_string(part.format.bits) + " bits became " +
                                        std::string(dtype_name(dtype)) + ": " +
                                        (part.is_table              ? "embeddings and heads stay floats in this form"
                                         : part.format.has_minimums ? "this form has zero points, not minimums"
                                                                    : "a row is no whole number of groups"));
      }
      continue;
    }
    schemes[scheme].push_back(part.name);
    form.tensors.push_back(scale_tensor(source, part, DType::f32));
    if (scheme.packed) {
      form.tensors.push_back(packed_tensor(source, part, scheme.bits));
      if (!scheme.symmetric) form.tensors.push_back(zero_point_tensor(source, part, scheme.bits));
      form.tensors.push_back(
          shape_tensor(part, {static_cast<std::int64_t>(part.rows), static_cast<std::int64_t>(part.columns)}));
    } else {
      form.tensors.push_back(code_tensor(source, part));
    }
  }
  for (const std::string& tensor : parts.tensors) form.tensors.push_back(plain_tensor(source, tensor));
  if (!schemes.empty() && detail::model_type_of(config) == "gpt2") {
    form.notes.add("transformers has no quantized form of GPT-2's layers (Conv1D); Tulle reads this one");
  }
  const auto any = [&](auto&& has) {
    return std::any_of(schemes.begin(), schemes.end(), [&](const auto& each) { return has(each.first, each.second); });
  };
  if (any([](const auto& scheme, const auto&) { return !scheme.symmetric; })) {
    // Its plain way of loading (5.24, with compressed-tensors 0.20) expects zero points that are not packed, and
    // dequantize=True expects packed codes everywhere.
    form.notes.add(
        any([](const auto& scheme, const auto&) { return !scheme.packed; })
            ? "transformers does not read codes with zero points beside int8; Tulle does"
            : "transformers reads codes with zero points where CompressedTensorsConfig(dequantize=True) is given");
  }
  if (any([](const auto& scheme, const auto& names) {
        return !scheme.packed && std::any_of(names.begin(), names.end(), [](const std::string& name) {
          return name.find(".experts.") != std::string::npos;
        });
      })) {
    form.notes.add("transformers does not read int8 experts; Tulle does");
  }
  if (detail::model_type_of(config) == "gpt_oss") {
    form.notes.add("every expert has tensors of its own, which transformers does not read for GPT-OSS; Tulle does");
  }
  if (!schemes.empty()) {
    form.config["quantization_config"] = detail::compressed_tensors_config(schemes, unquantized);
    if (!quantizes_activations_per_token(config) && detail::declares_activations_per_token(form.config)) {
      form.config[activation_scales_key] = "group";
    }
  }
  return form;
}

}  // namespace tulle
