// SPDX-License-Identifier: Apache-2.0
/// \file The GPT-J family: GPT-J 6B (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/codegen.hpp>

namespace tulle {

/// CodeGen with tensors of their own for queries, keys and values. Keys and defaults are those of transformers'
/// GPTJConfig. Errors: as `codegen_architecture`.
inline Architecture gptj_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full["mp_num"] = 1;
  Architecture model = codegen_architecture(full, where);
  model.family = "gptj";
  model.query_order = model.key_order = model.value_order = {};
  model.names.query_key_value = "";
  model.names.query = "attn.q_proj";
  model.names.key = "attn.k_proj";
  model.names.value = "attn.v_proj";
  return model;
}

}  // namespace tulle
