// SPDX-License-Identifier: Apache-2.0
/// \file Tables of tensor names: those of GGUF files beside Hugging Face's (L3).
#pragma once

#include <array>
#include <span>

namespace tulle::detail {

/// One tensor without ".weight" and ".bias", or with it where the other spelling has none. "{}" in Hugging Face's stands
/// for the number of an expert: a GGUF file has the tensors of all experts in one.
struct GgufName {
  const char *gguf, *huggingface;
};

/// The names of a family. Those of a layer follow "blk.N." in GGUF files, and `layer`, N and a dot in Hugging Face's; of
/// several tables the first that has a name counts.
struct GgufNames {
  std::span<const GgufName> outside;
  const char* layer;
  std::array<std::span<const GgufName>, 3> tables;
};

// Source of all names: gguf-py's constants.py and tensor_mapping.py.

inline constexpr std::array llama_outside{GgufName{"token_embd", "model.embed_tokens"},
                                          GgufName{"output_norm", "model.norm"}, GgufName{"output", "lm_head"}};
inline constexpr std::array llama_layer{
    GgufName{"attn_norm", "input_layernorm"},    GgufName{"attn_q", "self_attn.q_proj"},
    GgufName{"attn_k", "self_attn.k_proj"},      GgufName{"attn_v", "self_attn.v_proj"},
    GgufName{"attn_q_norm", "self_attn.q_norm"}, GgufName{"attn_k_norm", "self_attn.k_norm"},
    GgufName{"attn_output", "self_attn.o_proj"}, GgufName{"ffn_norm", "post_attention_layernorm"},
    GgufName{"ffn_gate", "mlp.gate_proj"},       GgufName{"ffn_up", "mlp.up_proj"},
    GgufName{"ffn_down", "mlp.down_proj"}};
inline constexpr GgufNames llama_names{llama_outside, "model.layers.", {{llama_layer}}};

inline constexpr std::array gemma2_layer{GgufName{"post_attention_norm", "post_attention_layernorm"},
                                         GgufName{"ffn_norm", "pre_feedforward_layernorm"},
                                         GgufName{"post_ffw_norm", "post_feedforward_layernorm"}};
inline constexpr GgufNames gemma2_names{llama_outside, "model.layers.", {{gemma2_layer, llama_layer}}};

inline constexpr std::array phi2_outside{GgufName{"token_embd", "model.embed_tokens"},
                                         GgufName{"output_norm", "model.final_layernorm"},
                                         GgufName{"output", "lm_head"}};
inline constexpr std::array phi2_layer{GgufName{"attn_output", "self_attn.dense"}, GgufName{"ffn_up", "mlp.fc1"},
                                       GgufName{"ffn_down", "mlp.fc2"}};
inline constexpr GgufNames phi2_names{phi2_outside, "model.layers.", {{phi2_layer, llama_layer}}};

inline constexpr std::array phi3_layer{GgufName{"attn_qkv", "self_attn.qkv_proj"},
                                       GgufName{"ffn_up", "mlp.gate_up_proj"}};
inline constexpr GgufNames phi3_names{llama_outside, "model.layers.", {{phi3_layer, llama_layer}}};

inline constexpr std::array starcoder2_layer{GgufName{"ffn_up", "mlp.c_fc"}, GgufName{"ffn_down", "mlp.c_proj"}};
inline constexpr GgufNames starcoder2_names{llama_outside, "model.layers.", {{starcoder2_layer, llama_layer}}};

inline constexpr std::array gpt2_outside{GgufName{"token_embd", "transformer.wte"},
                                         GgufName{"position_embd", "transformer.wpe"},
                                         GgufName{"output_norm", "transformer.ln_f"}, GgufName{"output", "lm_head"}};
inline constexpr std::array gpt2_layer{GgufName{"attn_norm", "ln_1"},          GgufName{"attn_qkv", "attn.c_attn"},
                                       GgufName{"attn_output", "attn.c_proj"}, GgufName{"ffn_norm", "ln_2"},
                                       GgufName{"ffn_up", "mlp.c_fc"},         GgufName{"ffn_down", "mlp.c_proj"}};
inline constexpr GgufNames gpt2_names{gpt2_outside, "transformer.h.", {{gpt2_layer}}};

inline constexpr std::array gpt_neox_outside{GgufName{"token_embd", "gpt_neox.embed_in"},
                                             GgufName{"output_norm", "gpt_neox.final_layer_norm"},
                                             GgufName{"output", "embed_out"}};
inline constexpr std::array gpt_neox_layer{
    GgufName{"attn_norm", "input_layernorm"},   GgufName{"attn_qkv", "attention.query_key_value"},
    GgufName{"attn_output", "attention.dense"}, GgufName{"ffn_norm", "post_attention_layernorm"},
    GgufName{"ffn_up", "mlp.dense_h_to_4h"},    GgufName{"ffn_down", "mlp.dense_4h_to_h"}};
inline constexpr GgufNames gpt_neox_names{gpt_neox_outside, "gpt_neox.layers.", {{gpt_neox_layer}}};

inline constexpr std::array bloom_outside{GgufName{"token_embd", "transformer.word_embeddings"},
                                          GgufName{"token_embd_norm", "transformer.word_embeddings_layernorm"},
                                          GgufName{"output_norm", "transformer.ln_f"}, GgufName{"output", "lm_head"}};
inline constexpr std::array bloom_layer{
    GgufName{"attn_norm", "input_layernorm"},        GgufName{"attn_qkv", "self_attention.query_key_value"},
    GgufName{"attn_output", "self_attention.dense"}, GgufName{"ffn_norm", "post_attention_layernorm"},
    GgufName{"ffn_up", "mlp.dense_h_to_4h"},         GgufName{"ffn_down", "mlp.dense_4h_to_h"}};
inline constexpr GgufNames bloom_names{bloom_outside, "transformer.h.", {{bloom_layer}}};

/// Falcon 7B and 11B; Falcon 40B and 180B, whose `attn_norm` is the norm of the MLP.
inline constexpr std::array falcon_two_norms_layer{GgufName{"attn_norm", "ln_mlp"}, GgufName{"attn_norm_2", "ln_attn"}};
inline constexpr GgufNames falcon_names{bloom_outside, "transformer.h.", {{bloom_layer}}},
    falcon_two_norms_names{bloom_outside, "transformer.h.", {{falcon_two_norms_layer, bloom_layer}}};

inline constexpr std::array mpt_outside{GgufName{"token_embd", "transformer.wte"},
                                        GgufName{"output_norm", "transformer.norm_f"}, GgufName{"output", "lm_head"}};
inline constexpr std::array mpt_layer{GgufName{"attn_norm", "norm_1"},          GgufName{"attn_qkv", "attn.Wqkv"},
                                      GgufName{"attn_output", "attn.out_proj"}, GgufName{"ffn_norm", "norm_2"},
                                      GgufName{"ffn_up", "ffn.up_proj"},        GgufName{"ffn_down", "ffn.down_proj"}};
inline constexpr GgufNames mpt_names{mpt_outside, "transformer.blocks.", {{mpt_layer}}};

inline constexpr std::array mixtral_layer{GgufName{"ffn_gate_inp", "block_sparse_moe.gate"},
                                          GgufName{"ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
                                          GgufName{"ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
                                          GgufName{"ffn_down_exps", "block_sparse_moe.experts.{}.w2"}};
inline constexpr GgufNames mixtral_names{llama_outside, "model.layers.", {{mixtral_layer, llama_layer}}};

inline constexpr std::array qwen_moe_layer{GgufName{"ffn_gate_inp", "mlp.gate"},
                                           GgufName{"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
                                           GgufName{"ffn_up_exps", "mlp.experts.{}.up_proj"},
                                           GgufName{"ffn_down_exps", "mlp.experts.{}.down_proj"},
                                           GgufName{"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                           GgufName{"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                           GgufName{"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                           GgufName{"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
inline constexpr GgufNames qwen_moe_names{llama_outside, "model.layers.", {{qwen_moe_layer, llama_layer}}};

inline constexpr std::array gpt_oss_layer{GgufName{"ffn_gate_inp", "mlp.router"},
                                          GgufName{"attn_sinks.weight", "self_attn.sinks"},
                                          GgufName{"post_attention_norm", "post_attention_layernorm"}};
inline constexpr GgufNames gpt_oss_names{
    llama_outside, "model.layers.", {{gpt_oss_layer, qwen_moe_layer, llama_layer}}};

}  // namespace tulle::detail
