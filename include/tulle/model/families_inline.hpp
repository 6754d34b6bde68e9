// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for families.hpp (L3).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/bloom.hpp>
#include <tulle/model/codegen.hpp>
#include <tulle/model/falcon.hpp>
#include <tulle/model/families.hpp>
#include <tulle/model/gemma.hpp>
#include <tulle/model/gemma2.hpp>
#include <tulle/model/gemma3.hpp>
#include <tulle/model/gpt2.hpp>
#include <tulle/model/gpt_neo.hpp>
#include <tulle/model/gpt_neox.hpp>
#include <tulle/model/gpt_oss.hpp>
#include <tulle/model/gptj.hpp>
#include <tulle/model/granite.hpp>
#include <tulle/model/llama.hpp>
#include <tulle/model/mistral.hpp>
#include <tulle/model/mixtral.hpp>
#include <tulle/model/mpt.hpp>
#include <tulle/model/olmo2.hpp>
#include <tulle/model/olmoe.hpp>
#include <tulle/model/opt.hpp>
#include <tulle/model/phi.hpp>
#include <tulle/model/phi3.hpp>
#include <tulle/model/qwen2.hpp>
#include <tulle/model/qwen2_moe.hpp>
#include <tulle/model/qwen3.hpp>
#include <tulle/model/qwen3_moe.hpp>
#include <tulle/model/smollm3.hpp>
#include <tulle/model/starcoder2.hpp>

namespace tulle {

TULLE_INLINE std::span<const Family> families() {
  // Adding a family is adding a line here and the function it names.
  static constexpr std::array all{Family{"bloom", bloom_architecture},
                                  Family{"codegen", codegen_architecture},
                                  Family{"falcon", falcon_architecture},
                                  Family{"gemma", gemma_architecture},
                                  Family{"gemma2", gemma2_architecture},
                                  Family{"gemma3_text", gemma3_architecture},
                                  Family{"gpt2", gpt2_architecture},
                                  Family{"gpt_neo", gpt_neo_architecture},
                                  Family{"gpt_neox", gpt_neox_architecture},
                                  Family{"gpt_oss", gpt_oss_architecture},
                                  Family{"gptj", gptj_architecture},
                                  Family{"granite", granite_architecture},
                                  Family{"llama", llama_architecture},
                                  Family{"mistral", mistral_architecture},
                                  Family{"mixtral", mixtral_architecture},
                                  Family{"mpt", mpt_architecture},
                                  Family{"olmo2", olmo2_architecture},
                                  Family{"olmoe", olmoe_architecture},
                                  Family{"opt", opt_architecture},
                                  Family{"phi", phi_architecture},
                                  Family{"phi3", phi3_architecture},
                                  Family{"qwen2", qwen2_architecture},
                                  Family{"qwen2_moe", qwen2_moe_architecture},
                                  Family{"qwen3", qwen3_architecture},
                                  Family{"qwen3_moe", qwen3_moe_architecture},
                                  Family{"smollm3", smollm3_architecture},
                                  Family{"starcoder2", starcoder2_architecture}};
  return all;
}

TULLE_INLINE Architecture describe_model(const Json& config, std::string_view where) {
  if (!config.is_object()) fail(ErrorCode::malformed, where, ": a config must be a JSON object");
  const auto model_type = json_value(config, "model_type", std::string(), where);
  std::string known;
  for (const Family& family : families()) {
    if (family.model_type == model_type) {
      require_flag(config, "is_causal", true, where);
      Architecture model = family.describe(config, where);
      model.validate(where);
      return model;
    }
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  if (model_type.empty()) fail(ErrorCode::unsupported, where, ": the config has no model_type; supported are ", known);
  fail(ErrorCode::unsupported, where, ": model_type \"", model_type, "\" is not supported; supported are ", known);
}

}  // namespace tulle
