// SPDX-License-Identifier: Apache-2.0
/// \file The table of the architectures of GGUF files, with what they are for Hugging Face (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/format/gguf_names.hpp>

namespace tulle::detail {

/// Keys of a config for what every GGUF file says. Null: the family has no such key.
struct GgufConfigKeys {
  const char *hidden = "hidden_size", *layers = "num_hidden_layers", *heads = "num_attention_heads";
  const char *kv_heads = "num_key_value_heads", *inner = "intermediate_size", *context = "max_position_embeddings";
  const char *activation = "hidden_act", *bias = "attention_bias", *theta = "rope_theta", *head_dim = "head_dim";
};

inline constexpr GgufConfigKeys usual_keys{}, gemma_keys{.activation = "hidden_activation"},
    starcoder2_keys{.bias = "use_bias"},
    falcon_keys{.kv_heads = "num_kv_heads",
                .inner = "ffn_hidden_size",
                .activation = "activation",
                .bias = "bias",
                .head_dim = nullptr},
    gpt2_keys{"n_embd", "n_layer", "n_head", nullptr, "n_inner", "n_positions", "activation_function",
              nullptr,  nullptr,   nullptr},
    bloom_keys{"hidden_size", "n_layer", "n_head", nullptr, nullptr, "seq_length", nullptr, nullptr, nullptr, nullptr},
    mpt_keys{"d_model", "n_layers", "n_heads", nullptr, nullptr, "max_seq_len", nullptr, nullptr, nullptr, nullptr};

/// In which order rows of queries and keys lie in a file, where Hugging Face has halves of rotary heads.
enum class GgufRows : std::uint8_t {
  as_they_are,
  adjacent_pairs,    ///< dimensions j and j + head / 2 of a head follow each other
  stacked_by_group,  ///< all queries, all keys, all values, where Hugging Face has blocks of a key-value head each
};

/// What `attention.sliding_window` does.
enum class GgufWindow : std::uint8_t { unread, every_layer, some_layers, refused };

struct GgufArchitecture {
  const char* name;                     ///< `general.architecture`, which the keys of its metadata begin with
  const char *model_type, *class_name;  ///< of config.json
  const GgufNames* names = &llama_names;
  const GgufConfigKeys* keys = &usual_keys;
  const char* epsilon = "rms_norm_eps";  ///< key of the config; of layer norms where it is another
  const char* activation = "silu";       ///< of the config; files do not hold it
  GgufRows rows = GgufRows::as_they_are;
  GgufWindow window = GgufWindow::unread;
  std::uint8_t window_period = 0;     ///< of some layers the last of so many sees everything, unless the file differs
  std::uint8_t widest = 0;            ///< layers of Gemma's largest model, which scales queries in its own way
  bool adds_one = false;              ///< norms hold 1 + Hugging Face's weight
  bool is_written = false;            ///< by `gguf_form`
  const char* rotary_part = nullptr;  ///< key of the config for the part of a head that rotates; null: all of it does
  const char* experts = nullptr;      ///< key of the config for their number; null: no mixture of experts
  const char* tensor = nullptr;       ///< which tells it from the next one with its name
  // What a config may leave out, as `gguf_form` needs it. 0: as many as heads; what a head has of the width.
  double theta = 10000;
  std::uint8_t kv_heads = 0, head_dim = 0;
};

/// Of several with one name the first whose `tensor` is in the file. Sources: llama.cpp's convert_hf_to_gguf.py, where
/// rows are permuted for the classes that derive from `LlamaModel`, and src/models for what files leave out.
inline constexpr std::array gguf_architectures{
    GgufArchitecture{.name = "llama",
                     .model_type = "mixtral",
                     .class_name = "MixtralForCausalLM",
                     .names = &mixtral_names,
                     .rows = GgufRows::adjacent_pairs,
                     .experts = "num_local_experts",
                     .tensor = "blk.0.ffn_gate_inp.weight"},
    GgufArchitecture{.name = "llama",
                     .model_type = "llama",
                     .class_name = "LlamaForCausalLM",
                     .rows = GgufRows::adjacent_pairs,
                     .tensor = "blk.0.attn_output.bias"},
    GgufArchitecture{.name = "llama",  // the biases of a llama that Hugging Face calls so are all or none
                     .model_type = "qwen2",
                     .class_name = "Qwen2ForCausalLM",
                     .rows = GgufRows::adjacent_pairs,
                     .tensor = "blk.0.attn_q.bias"},
    GgufArchitecture{.name = "llama",
                     .model_type = "llama",
                     .class_name = "LlamaForCausalLM",
                     .rows = GgufRows::adjacent_pairs,
                     .is_written = true},
    GgufArchitecture{.name = "granite",
                     .model_type = "granite",
                     .class_name = "GraniteForCausalLM",
                     .rows = GgufRows::adjacent_pairs,
                     .is_written = true},
    GgufArchitecture{.name = "qwen2", .model_type = "qwen2", .class_name = "Qwen2ForCausalLM", .is_written = true},
    GgufArchitecture{
        .name = "qwen3", .model_type = "qwen3", .class_name = "Qwen3ForCausalLM", .is_written = true, .head_dim = 128},
    GgufArchitecture{.name = "smollm3",
                     .model_type = "smollm3",
                     .class_name = "SmolLM3ForCausalLM",
                     .rows = GgufRows::adjacent_pairs,
                     .is_written = true,
                     .theta = 2e6,
                     .kv_heads = 4},
    GgufArchitecture{.name = "gemma",
                     .model_type = "gemma",
                     .class_name = "GemmaForCausalLM",
                     .keys = &gemma_keys,
                     .activation = "gelu_pytorch_tanh",
                     .adds_one = true},
    GgufArchitecture{.name = "gemma2",
                     .model_type = "gemma2",
                     .class_name = "Gemma2ForCausalLM",
                     .names = &gemma2_names,
                     .keys = &gemma_keys,
                     .activation = "gelu_pytorch_tanh",
                     .window = GgufWindow::some_layers,
                     .window_period = 2,
                     .widest = 46,
                     .adds_one = true},
    GgufArchitecture{.name = "gemma3",
                     .model_type = "gemma3_text",
                     .class_name = "Gemma3ForCausalLM",
                     .names = &gemma2_names,
                     .keys = &gemma_keys,
                     .activation = "gelu_pytorch_tanh",
                     .window = GgufWindow::some_layers,
                     .window_period = 6,
                     .widest = 62,
                     .adds_one = true},
    GgufArchitecture{.name = "phi2",
                     .model_type = "phi",
                     .class_name = "PhiForCausalLM",
                     .names = &phi2_names,
                     .epsilon = "layer_norm_eps",
                     .activation = "gelu_new",
                     .rotary_part = "partial_rotary_factor"},
    GgufArchitecture{.name = "phi3",
                     .model_type = "phi3",
                     .class_name = "Phi3ForCausalLM",
                     .names = &phi3_names,
                     .window = GgufWindow::every_layer,
                     .rotary_part = "partial_rotary_factor"},
    GgufArchitecture{.name = "starcoder2",
                     .model_type = "starcoder2",
                     .class_name = "Starcoder2ForCausalLM",
                     .names = &starcoder2_names,
                     .keys = &starcoder2_keys,
                     .epsilon = "norm_epsilon",
                     .activation = "gelu_pytorch_tanh",
                     .is_written = true,
                     .kv_heads = 2},
    GgufArchitecture{.name = "olmo2",
                     .model_type = "olmo2",
                     .class_name = "Olmo2ForCausalLM",
                     .names = &gemma2_names,
                     .window = GgufWindow::refused,  // OLMo 3
                     .is_written = true},
    GgufArchitecture{.name = "gpt2",
                     .model_type = "gpt2",
                     .class_name = "GPT2LMHeadModel",
                     .names = &gpt2_names,
                     .keys = &gpt2_keys,
                     .epsilon = "layer_norm_epsilon",
                     .activation = "gelu_new"},
    GgufArchitecture{.name = "gptneox",
                     .model_type = "gpt_neox",
                     .class_name = "GPTNeoXForCausalLM",
                     .names = &gpt_neox_names,
                     .epsilon = "layer_norm_eps",
                     .activation = "gelu",
                     .rows = GgufRows::stacked_by_group,
                     .rotary_part = "rotary_pct"},
    GgufArchitecture{.name = "bloom",
                     .model_type = "bloom",
                     .class_name = "BloomForCausalLM",
                     .names = &bloom_names,
                     .keys = &bloom_keys,
                     .epsilon = "layer_norm_epsilon",
                     .rows = GgufRows::stacked_by_group},
    GgufArchitecture{.name = "mpt",
                     .model_type = "mpt",
                     .class_name = "MptForCausalLM",
                     .names = &mpt_names,
                     .keys = &mpt_keys,
                     .epsilon = "layer_norm_epsilon"},
    GgufArchitecture{.name = "falcon",
                     .model_type = "falcon",
                     .class_name = "FalconForCausalLM",
                     .names = &falcon_two_norms_names,
                     .keys = &falcon_keys,
                     .epsilon = "layer_norm_epsilon",
                     .activation = "gelu",
                     .rows = GgufRows::stacked_by_group,
                     .tensor = "blk.0.attn_norm_2.weight"},
    GgufArchitecture{.name = "falcon",
                     .model_type = "falcon",
                     .class_name = "FalconForCausalLM",
                     .names = &falcon_names,
                     .keys = &falcon_keys,
                     .epsilon = "layer_norm_epsilon",
                     .activation = "gelu",
                     .rows = GgufRows::stacked_by_group},
    GgufArchitecture{.name = "qwen2moe",
                     .model_type = "qwen2_moe",
                     .class_name = "Qwen2MoeForCausalLM",
                     .names = &qwen_moe_names,
                     .experts = "num_experts"},
    GgufArchitecture{.name = "qwen3moe",
                     .model_type = "qwen3_moe",
                     .class_name = "Qwen3MoeForCausalLM",
                     .names = &qwen_moe_names,
                     .experts = "num_experts"},
    GgufArchitecture{.name = "olmoe",
                     .model_type = "olmoe",
                     .class_name = "OlmoeForCausalLM",
                     .names = &qwen_moe_names,
                     .experts = "num_experts"},
    GgufArchitecture{.name = "gpt-oss",
                     .model_type = "gpt_oss",
                     .class_name = "GptOssForCausalLM",
                     .names = &gpt_oss_names,
                     .window = GgufWindow::some_layers,
                     .window_period = 2,
                     .experts = "num_local_experts"}};

/// The architecture in which models of a model_type are written, or null.
inline const GgufArchitecture* written_gguf_architecture(const Json& model_type) {
  const auto found =
      std::find_if(gguf_architectures.begin(), gguf_architectures.end(),
                   [&](const GgufArchitecture& each) { return each.is_written && model_type == each.model_type; });
  return found == gguf_architectures.end() ? nullptr : &*found;
}

}  // namespace tulle::detail
