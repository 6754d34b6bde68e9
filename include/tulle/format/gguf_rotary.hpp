// SPDX-License-Identifier: Apache-2.0
/// \file Rotary scaling of GGUF files as a config's "rope_scaling" (L3).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/gguf_model.hpp>
#include <tulle/format/gguf_values.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/float_elements.hpp>

namespace tulle {

namespace detail {

/// Tensors that are numbers of the config: divisors of the rotary frequencies.
inline constexpr std::array<std::string_view, 3> gguf_config_tensors{"rope_freqs.weight", "rope_factors_short.weight",
                                                                     "rope_factors_long.weight"};

/// A list of one divisor per frequency times `factor`, or null where the file has no such tensor.
/// Errors: malformed. Needs: the bytes of the tensor.
inline Json gguf_divisors(const GgufFile& file, std::string_view name, const GgufModel& model, double factor) {
  const EncodedTensor* tensor = find_gguf_tensor(file, name);
  if (tensor == nullptr) return nullptr;
  const std::size_t count = tensor->elements();
  if (count == 0 || tensor->dtype != DType::f32 || count != model.rotary_dim / 2) {
    fail(ErrorCode::malformed, file.where, ": ", name, " must be F32 with one number per rotary frequency");
  }
  std::vector<float> values(count);
  decode_floats(DType::f32, tensor->bytes.data(), count, values.data());
  Json divisors = Json::array();
  for (const float value : values) divisors.push_back(static_cast<double>(value) * factor);
  return divisors;
}

/// Copies the number under `key` of the file to `name`, if there is one.
inline void copy_gguf_number(const GgufFile& file, const std::string& key, bool integer, const char* name, Json& to) {
  Json value = gguf_number(file, key, integer);
  if (!value.is_null()) to[name] = std::move(value);
}

}  // namespace detail

/// "rope_scaling" of the config, or null. llama.cpp divides every position by `rope.scaling.factor` unless the type is
/// "none", and every frequency by its entry of rope_freqs.weight (so it keeps llama3 scaling): where there are such
/// entries the result is {"rope_type": "factors", "factors": [one divisor per frequency]}. Two lists of divisors, for
/// short and for long texts, are "longrope". Errors: malformed and unsupported.
inline Json gguf_rope_scaling(const GgufFile& file, const GgufModel& model) {
  using detail::gguf_number;
  const std::string prefix = model.prefix() + "rope.";
  const std::string type = detail::gguf_text(file, prefix + "scaling.type", "linear");
  Json factor = gguf_number(file, prefix + "scaling.factor", false);
  if (factor.is_null()) factor = gguf_number(file, prefix + "scale_linear", false);
  if (factor.is_null() || factor == 0 || type == "none") factor = 1.0;

  Json scaling;
  Json near = detail::gguf_divisors(file, detail::gguf_config_tensors[1], model, 1);
  Json far = detail::gguf_divisors(file, detail::gguf_config_tensors[2], model, 1);
  if (near.is_null() != far.is_null()) {
    fail(ErrorCode::malformed, file.where,
         ": of rope_factors_short.weight and rope_factors_long.weight one is missing");
  }
  const auto copy = [&](const char* key, bool integer, const char* name) {
    detail::copy_gguf_number(file, prefix + key, integer, name, scaling);
  };
  if (!near.is_null()) {
    scaling["rope_type"] = "longrope";
    scaling["short_factor"] = std::move(near);
    scaling["long_factor"] = std::move(far);
    copy("scaling.attn_factor", false, "attention_factor");
    copy("scaling.original_context_length", true, "original_max_position_embeddings");
    return scaling;
  }
  Json divisors = detail::gguf_divisors(file, detail::gguf_config_tensors[0], model, factor.get<double>());
  if (!divisors.is_null()) {
    if (type != "none" && type != "linear") {
      fail(ErrorCode::unsupported, file.where, ": rope scaling ", detail::quoted_name(type),
           " together with rope_freqs.weight");
    }
    scaling["rope_type"] = "factors";
    scaling["factors"] = std::move(divisors);
    return scaling;
  }
  if (type == "none" || (type == "linear" && factor == 1.0)) return nullptr;
  scaling["rope_type"] = type;
  scaling["factor"] = factor;
  copy("scaling.original_context_length", true, "original_max_position_embeddings");
  if (type != "yarn") return scaling;
  copy("scaling.yarn_beta_fast", false, "beta_fast");
  copy("scaling.yarn_beta_slow", false, "beta_slow");
  copy("scaling.yarn_attn_factor", false, "attention_factor");
  if (std::string_view(model.architecture->model_type) == "gpt_oss") scaling["truncate"] = false;
  return scaling;
}

}  // namespace tulle
