// SPDX-License-Identifier: Apache-2.0
/// \file The special tokens that configs name (L3).
#pragma once

#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

/// `eos_token_id` of a config: one id, a list of them, or nothing. Errors: malformed for anything else.
inline std::vector<Token> eos_tokens(const Json& config, std::string_view where) {
  const auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null()) return {};
  if (found->is_array()) return json_value(config, "eos_token_id", std::vector<Token>{}, where);
  return {json_value(config, "eos_token_id", Token{}, where)};
}

/// Fills bos and eos from a config, with the family's defaults where the keys are absent. Needs: the vocabulary's size.
inline void read_special_tokens(const Json& config, Token default_bos, Token default_eos, std::string_view where,
                                Architecture& model) {
  const auto bos = config.find("bos_token_id");
  if (bos == config.end()) {
    model.bos = default_bos;
  } else if (!bos->is_null()) {
    model.bos = json_value(config, "bos_token_id", Token{}, where);
  }
  model.set_eos(config.contains("eos_token_id") ? eos_tokens(config, where) : std::vector<Token>{default_eos});
}

}  // namespace tulle
