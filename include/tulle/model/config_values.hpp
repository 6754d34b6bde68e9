// SPDX-License-Identifier: Apache-2.0
/// \file What several families read from a config in the same way (L3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

/// The size under the first of `keys` that the config has: families renamed theirs over time.
template <std::size_t N>
std::size_t first_size(const Json& config, const char* const (&keys)[N], std::size_t fallback, std::string_view where) {
  for (const char* key : keys) {
    if (config.contains(key) && !config[key].is_null()) return json_value(config, key, fallback, where);
  }
  return fallback;
}

/// hidden / heads. Errors: malformed where that is no whole number, and for more than a model may have: families make
/// tables of both before `Architecture::validate`.
inline std::size_t even_head_dim(const Architecture& model, std::string_view where) {
  if (model.heads == 0 || model.hidden % model.heads != 0) {
    fail(ErrorCode::malformed, where, ": the hidden size ", model.hidden, " is no multiple of ", model.heads,
         " attention heads");
  }
  const std::size_t head_dim = model.hidden / model.heads;
  if (model.heads > Architecture::max_heads || head_dim > Architecture::max_head_dim) {
    fail(ErrorCode::malformed, where, ": ", model.heads, " attention heads of dimension ", head_dim,
         "; there must be at most ", Architecture::max_heads, ", of dimension ", Architecture::max_head_dim);
  }
  return head_dim;
}

/// The MLP without a gate that an activation names. Errors: unsupported for one that is not known.
inline MlpKind plain_mlp(const std::string& activation, std::string_view where) {
  if (activation == "relu") return MlpKind::relu;
  if (activation == "gelu" || activation == "gelu_python") return MlpKind::gelu_erf;
  for (const char* by_tanh : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_accurate"}) {
    if (activation == by_tanh) return MlpKind::gelu;
  }
  fail(ErrorCode::unsupported, where, ": the activation \"", activation,
       "\" is not known; known are relu, gelu, gelu_new, gelu_fast and gelu_pytorch_tanh");
}

/// `part` of a head, for what rotates. Errors: malformed for what is no even number of dimensions.
inline std::size_t rotary_dimensions(double part, std::size_t head_dim, std::string_view where) {
  if (head_dim == 0) return 0;  // which `Architecture::validate` refuses
  const bool is_part = part > 0 && part <= 1;
  const auto dimensions = static_cast<std::size_t>(is_part ? part * static_cast<double>(head_dim) : 0);
  if (dimensions == 0 || dimensions % 2 != 0) {
    fail(ErrorCode::malformed, where, ": the part ", part, " of a head of ", head_dim,
         " that rotates is no even number of dimensions");
  }
  return dimensions;
}

/// Errors: unsupported where `key` is not `supported`.
inline void require_flag(const Json& config, const char* key, bool supported, std::string_view where) {
  if (json_value(config, key, supported, where) != supported) {
    fail(ErrorCode::unsupported, where, ": \"", key, "\": ", supported ? "false" : "true", " is not supported");
  }
}

}  // namespace tulle
