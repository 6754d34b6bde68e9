// SPDX-License-Identifier: Apache-2.0
/// \file What the tensors of a GGUF file depend on: its architecture and the sizes of its heads and experts (L3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/format/gguf_architectures.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/gguf_values.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

struct GgufModel {
  const detail::GgufArchitecture* architecture = nullptr;
  std::uint64_t layers = 0, heads = 0, kv_heads = 0;  ///< heads are not 0
  std::uint64_t head_dim = 0, rotary_dim = 0;         ///< of a head: all dimensions, and those that rotate
  std::uint64_t experts = 0;                          ///< of a layer; 0: no mixture

  std::string prefix() const { return std::string(architecture->name) + "."; }
};

namespace detail {

inline const EncodedTensor* find_gguf_tensor(const GgufFile& file, std::string_view name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [name](const EncodedTensor& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

/// Errors: unsupported.
inline const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  const std::string name = gguf_text(file, "general.architecture", "");
  std::string known, last;
  for (const GgufArchitecture& each : gguf_architectures) {
    if (name == each.name && (each.tensor == nullptr || find_gguf_tensor(file, each.tensor) != nullptr)) return each;
    if (last != each.name) known += (known.empty() ? "" : ", ") + std::string(each.name);
    last = each.name;
  }
  fail(ErrorCode::unsupported, file.where, ": GGUF architecture ", quoted_name(name), " is not known; known are ",
       known);
}

/// A size of the metadata, or `fallback` where it is absent. Errors: malformed for what is no number from 1 to 2^20.
inline std::uint64_t gguf_size(const GgufFile& file, const std::string& key, std::uint64_t fallback) {
  const Json value = gguf_number(file, key, true);
  if (value.is_null()) return fallback;
  if (!(value >= 1) || value.get<std::uint64_t>() > (1u << 20)) {
    fail(ErrorCode::malformed, file.where, ": metadata ", quoted_name(key), " is no size");
  }
  return value.get<std::uint64_t>();
}
inline std::uint64_t required_gguf_size(const GgufFile& file, const std::string& key) {
  required_gguf_number(file, key, true);
  return gguf_size(file, key, 0);
}

}  // namespace detail

/// Errors: unsupported for other architectures, mixtures of experts where there are none, and heads that are not alike;
/// malformed for missing keys and for numbers that make no model.
inline GgufModel gguf_model(const GgufFile& file) {
  GgufModel model;
  model.architecture = &detail::gguf_architecture(file);
  const std::string prefix = model.prefix(), experts = prefix + "expert_count";
  const bool is_mixture = model.architecture->experts != nullptr;
  if (is_mixture) {
    model.experts = detail::required_gguf_size(file, experts);
    if (model.experts > 65536) fail(ErrorCode::malformed, file.where, ": ", model.experts, " experts");
  } else if (const Json count = detail::gguf_number(file, experts, true); !count.is_null() && count != 0) {
    fail(ErrorCode::unsupported, file.where, " is a mixture of experts, which a file of architecture ",
         detail::quoted_name(model.architecture->name), " cannot be without a router");
  }
  model.layers = detail::required_gguf_size(file, prefix + "block_count");
  model.heads = detail::required_gguf_size(file, prefix + "attention.head_count");
  model.kv_heads = detail::gguf_size(file, prefix + "attention.head_count_kv", model.heads);
  const std::uint64_t hidden = detail::required_gguf_size(file, prefix + "embedding_length");
  model.head_dim =
      detail::gguf_size(file, prefix + "attention.key_length", std::max<std::uint64_t>(1, hidden / model.heads));
  model.rotary_dim = detail::gguf_size(file, prefix + "rope.dimension_count", model.head_dim);
  const std::string value_length = prefix + "attention.value_length";
  if (detail::gguf_size(file, value_length, model.head_dim) != model.head_dim) {
    fail(ErrorCode::unsupported, file.where, ": ", value_length, " differs from the head dimension");
  }
  if (model.rotary_dim != model.head_dim && model.architecture->rotary_part == nullptr) {
    fail(ErrorCode::unsupported, file.where, ": ", prefix, "rope.dimension_count differs from the head dimension");
  }
  if (model.rotary_dim > model.head_dim) {
    fail(ErrorCode::malformed, file.where, ": ", prefix, "rope.dimension_count is above the head dimension");
  }
  return model;
}

}  // namespace tulle
