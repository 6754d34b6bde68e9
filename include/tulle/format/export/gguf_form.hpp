// SPDX-License-Identifier: Apache-2.0
/// \file A model as a GGUF file for llama.cpp (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/export/export_notes.hpp>
#include <tulle/format/export/gguf_blocks.hpp>
#include <tulle/format/export/gguf_tokenizer_metadata.hpp>
#include <tulle/format/export/matrix_tensors.hpp>
#include <tulle/format/export/model_description.hpp>
#include <tulle/format/export/model_parts.hpp>
#include <tulle/format/gguf_architectures.hpp>
#include <tulle/format/gguf_config.hpp>
#include <tulle/format/gguf_names.hpp>
#include <tulle/format/gguf_writer.hpp>

namespace tulle {

struct GgufForm {
  GgufMetadata metadata;
  std::vector<OutputTensor> tensors;
  ExportNotes notes;  ///< what differs from the model
};

namespace detail {

/// A layer's name in a GGUF file, and the order of its rows there.
struct GgufPlace {
  std::string name;
  RowOrder order;
};

/// Rows of rotary heads lie as adjacent pairs in GGUF files: row 2 i + j of a head is Hugging Face's row
/// j * dimension / 2 + i (llama.cpp's convert_hf_to_gguf.py, `LlamaModel.permute`).
inline RowOrder pairs_of_halves(std::size_t heads, std::size_t dimension) {
  return {0, {{{heads, dimension}, {dimension / 2, 1}, {2, dimension / 2}}}};
}

/// The inverse of `huggingface_tensors`. `layer`: "model.layers.0.self_attn.q_proj". Errors: unsupported for a layer that
/// GGUF files lack.
inline GgufPlace gguf_place(const GgufArchitecture& architecture, const std::string& layer, std::size_t rows,
                            const Json& config) {
  const GgufNames& names = *architecture.names;
  for (const GgufName& each : names.outside) {
    if (layer == each.huggingface) return {each.gguf, {}};
  }
  const std::string_view prefix = names.layer;
  const std::size_t dot = layer.starts_with(prefix) ? layer.find('.', prefix.size()) : std::string::npos;
  for (const auto& table : names.tables) {
    for (const GgufName& known : table) {
      if (dot == std::string::npos || std::string_view(layer).substr(dot + 1) != known.huggingface) continue;
      GgufPlace place{"blk." + layer.substr(prefix.size(), dot - prefix.size()) + "." + known.gguf, {}};
      const std::string_view stem = known.gguf;
      const char* key = stem == "attn_q" ? "num_attention_heads" : stem == "attn_k" ? "num_key_value_heads" : nullptr;
      if (architecture.rows != GgufRows::adjacent_pairs || key == nullptr) return place;
      const auto all = json_value(config, "num_attention_heads", std::size_t{0}, "config.json");
      const std::size_t usual = stem == "attn_k" && architecture.kv_heads != 0 ? architecture.kv_heads : all;
      const auto heads = json_value(config, key, usual, "config.json");
      if (heads == 0 || rows % heads != 0 || rows / heads % 2 != 0) {
        fail(ErrorCode::malformed, "\"", layer, "\" has ", rows, " rows, which are no ", heads, " heads");
      }
      place.order = pairs_of_halves(heads, rows / heads);
      return place;
    }
  }
  fail(ErrorCode::unsupported, "\"", layer, "\" has no place in a GGUF file of the architecture ", architecture.name);
}

inline Json rope_parameters_of(const Json& config) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json value = config.value(key, Json());
    if (value.is_object() && !value.empty()) return value;
  }
  return Json::object();
}

/// rope_freqs.weight for "llama3" and "factors"; "linear" becomes metadata. Errors: unsupported for another kind.
inline void add_rotary(const Json& config, const std::string& prefix, std::size_t head_dim, double theta,
                       GgufForm& form) {
  constexpr const char* where = "config.json";
  const Json parameters = rope_parameters_of(config);
  const auto kind =
      json_value(parameters, "rope_type", json_value(parameters, "type", std::string("default"), where), where);
  const auto number = [&](const char* key) { return json_value(parameters, key, 1.0, where); };
  std::vector<double> divisors;
  if (kind == "default") return;
  if (kind == "linear") {
    form.metadata.string(prefix + "rope.scaling.type", "linear");
    form.metadata.f32(prefix + "rope.scaling.factor", static_cast<float>(number("factor")));
    return;
  }
  if (kind == "llama3") {
    divisors = llama3_divisors(theta, head_dim / 2, number("factor"), number("low_freq_factor"),
                               number("high_freq_factor"), number("original_max_position_embeddings"));
  } else if (kind == "factors") {
    divisors = json_value(parameters, "factors", divisors, where);
  } else {
    fail(ErrorCode::unsupported, where, ": rope scaling \"", kind, "\" has no place in a GGUF file");
  }
  std::vector<float> values(divisors.begin(), divisors.end());
  form.tensors.push_back(
      {"rope_freqs.weight", DType::f32, {values.size()}, [values = std::move(values)](const TensorSink& sink) {
         sink(std::as_bytes(std::span(values)));
       }});
}

inline void add_metadata(const GgufArchitecture& architecture, const Json& config, DType type, GgufForm& form) {
  constexpr const char* where = "config.json";
  const auto size = [&](const char* key, std::optional<std::size_t> fallback = {}) {
    const auto value = json_value(config, key, fallback.value_or(0), where);
    if (value == 0 || value > UINT32_MAX) fail(ErrorCode::malformed, where, ": \"", key, "\" is missing or too large");
    return static_cast<std::uint32_t>(value);
  };
  GgufMetadata& metadata = form.metadata;
  const std::string prefix = std::string(architecture.name) + ".";
  metadata.string("general.architecture", std::string(architecture.name));
  metadata.string("general.type", "model");
  metadata.u32("general.file_type", type == DType::q8_0 ? 7 : type == DType::q4_0 ? 2 : 1);
  metadata.u32("general.quantization_version", 2);
  const std::uint32_t heads = size("num_attention_heads"), hidden = size("hidden_size");
  const std::uint32_t head_dim = size("head_dim", architecture.head_dim != 0 ? architecture.head_dim : hidden / heads);
  metadata.u32(prefix + "block_count", size("num_hidden_layers"));
  metadata.u32(prefix + "context_length", size("max_position_embeddings"));
  metadata.u32(prefix + "embedding_length", hidden);
  metadata.u32(prefix + "feed_forward_length", size("intermediate_size"));
  metadata.u32(prefix + "attention.head_count", heads);
  metadata.u32(prefix + "attention.head_count_kv",
               size("num_key_value_heads", architecture.kv_heads != 0 ? architecture.kv_heads : heads));
  metadata.u32(prefix + "attention.key_length", head_dim);
  metadata.u32(prefix + "attention.value_length", head_dim);
  const bool is_rms = std::string_view(architecture.epsilon) == "rms_norm_eps";
  metadata.f32(prefix + (is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"),
               json_value(config, architecture.epsilon, is_rms ? 1e-6f : 1e-5f, where));
  metadata.u32(prefix + "rope.dimension_count", head_dim);
  metadata.u32(prefix + "vocab_size", size("vocab_size"));
  const Json saved = config.value("rope_parameters", Json());  // transformers 5; `rope_scaling` may stand beside it
  double theta = saved.is_object() ? json_value(saved, "rope_theta", architecture.theta, where) : architecture.theta;
  theta = json_value(config, "rope_theta", theta, where);
  theta = json_value(rope_parameters_of(config), "rope_theta", theta, where);
  metadata.f32(prefix + "rope.freq_base", static_cast<float>(theta));
  add_rotary(config, prefix, head_dim, theta, form);
  for (const GgufNumber& each : std::span(gguf_numbers).first<granite_numbers>()) {
    const char* name = each.huggingface;
    const bool is_wanted = config.contains(name) || architecture.name == std::string_view("granite");
    if (is_wanted) metadata.f32(prefix + each.gguf, json_value(config, name, 1.0f, where));
  }
  if (json_value(config, "use_sliding_window", false, where) ||
      (!is_rms && json_value(config, "sliding_window", std::size_t{0}, where) != 0)) {
    form.notes.add("llama.cpp knows no windows of this family: every layer attends to all positions there");
  }
}

/// Files hold neither the activation nor a part of a head that rotates, so a reader takes the architecture's own.
/// Errors: unsupported.
inline void require_known_layers(const GgufArchitecture& architecture, const Json& config) {
  const std::string own = architecture.activation;
  auto activation = json_value(config, architecture.keys->activation, own, "config.json");
  if (activation == "swish") activation = "silu";
  if (activation == "gelu_new" || activation == "gelu_fast") activation = "gelu_pytorch_tanh";
  if (activation != own) {
    fail(ErrorCode::unsupported, "config.json: llama.cpp knows no \"", activation, "\" in the architecture ",
         architecture.name);
  }
  for (const Json& parameters : {config, rope_parameters_of(config)}) {
    if (json_value(parameters, "partial_rotary_factor", 1.0, "config.json") == 1.0) continue;
    fail(ErrorCode::unsupported, "config.json: llama.cpp rotates whole heads in the architecture ", architecture.name);
  }
}

/// llama.cpp leaves every fourth layer of SmolLM3 without rotation, and no other. Errors: unsupported.
inline void require_known_rotation(const Json& config) {
  const auto rotates = json_value(config, "no_rope_layers", std::vector<std::size_t>{}, "config.json");
  bool known = json_value(config, "no_rope_layer_interval", std::size_t{4}, "config.json") == 4;
  for (std::size_t layer = 0; layer < rotates.size(); ++layer)
    known = known && (rotates[layer] != 0) == (layer % 4 != 3);
  if (!known) fail(ErrorCode::unsupported, "config.json: llama.cpp does not know these \"no_rope_layers\"");
}

}  // namespace detail

/// `type`: of the layers' matrices: Q8_0, Q4_0 or F16. With Q4_0 embedding and head are Q8_0, unless they
/// are Q4_0 in the model. A matrix whose rows are no
/// whole number of blocks is F16; norms and biases are F32. Lifetime: that of the source.
/// Errors: unsupported for a family that `gguf_architectures` does not mark as written, for other layers without rotation than
/// llama.cpp's, and for a tokenizer that it has no name for; those of the source.
inline GgufForm gguf_form(const TensorSource& source, const ModelDescription& model, DType type) {
  const auto family = json_value(model.config, "model_type", std::string(), "config.json");
  const detail::GgufArchitecture* architecture = detail::written_gguf_architecture(family);
  if (architecture == nullptr) {
    fail(ErrorCode::unsupported, "no GGUF file is written of models of the family \"", family,
         "\"; export in another format");
  }
  detail::require_known_rotation(model.config);
  detail::require_known_layers(*architecture, model.config);
  if (type != DType::q8_0 && type != DType::q4_0 && type != DType::f16) {
    fail(ErrorCode::invalid_argument, "GGUF files are written as Q8_0, Q4_0 or F16, not ", dtype_name(type));
  }
  GgufForm form;
  detail::add_metadata(*architecture, model.config, type, form);
  detail::add_tokenizer(model, json_value(model.config, "vocab_size", std::size_t{0}, "config.json"), form.metadata,
                        form.notes);
  const ModelParts parts = model_parts(source, model.config);
  for (const MatrixPart& part : parts.matrices) {
    const detail::GgufPlace place = detail::gguf_place(*architecture, part.name, part.rows, model.config);
    const bool is_finer = type == DType::q4_0 && part.is_table && !detail::keeps_codes(part.format, type);
    DType dtype = is_finer ? DType::q8_0 : type;
    if (part.columns % dtype_info(dtype).block_elements != 0) {
      dtype = DType::f16;
      form.notes.about(
          part.name, "F16, because rows of " + std::to_string(part.columns) + " columns are no whole number of blocks");
    }
    form.tensors.push_back(gguf_matrix(source, part, place.name + ".weight", place.order, dtype));
  }
  for (const std::string& name : parts.tensors) {
    const std::size_t dot = name.rfind('.');
    const EncodedTensor& tensor = *source.find(name);
    const std::string kind = dot == std::string::npos ? "" : name.substr(dot);
    if (kind != ".weight" && kind != ".bias") {  // a buffer
      form.notes.about(name, "left out, because llama.cpp computes what it needs");
      continue;
    }
    const detail::GgufPlace place =
        detail::gguf_place(*architecture, name.substr(0, dot), tensor.elements(), model.config);
    form.tensors.push_back({place.name + kind,
                            DType::f32,
                            {tensor.elements()},
                            [&source, &tensor, order = place.order](const TensorSink& sink) {
                              const std::vector<float> values = read_floats(source, tensor);
                              std::vector<float> ordered = values;
                              for (std::size_t i = 0; i < values.size() && !order.as_it_lies(); ++i) {
                                ordered[i] = values[order[i]];
                              }
                              sink(std::as_bytes(std::span(ordered)));
                            }});
  }
  return form;
}

}  // namespace tulle
