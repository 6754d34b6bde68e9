// SPDX-License-Identifier: Apache-2.0
/// \file The modules of a model as recipes name them: names and classes of Hugging Face (L5).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/model/architecture.hpp>

namespace tulle {

struct Module {
  enum class Kind {
    container,  ///< holds other modules: a decoder layer, its attention, its MLP
    linear,
    embedding,
    norm,
  };
  enum class Reads { other, attention_norm, mlp_norm };  ///< whose output a linear layer multiplies
  static constexpr std::size_t no_parent = static_cast<std::size_t>(-1);

  Kind kind = Kind::container;
  std::string name;                   ///< "model.layers.0.self_attn.q_proj"
  std::string class_name;             ///< "Linear"
  std::size_t rows = 0, columns = 0;  ///< of the weight [rows, columns]; a norm has one column
  std::optional<std::size_t> layer;   ///< of the decoder, where it is part of one
  std::size_t parent = no_parent;     ///< index of the container that holds it, which is before it
  Reads reads = Reads::other;
  bool is_expert = false;  ///< a linear layer of an expert of a mixture
};

struct ModuleList {
  std::vector<Module> modules;
  std::string embedding, head;           ///< names
  bool tied_head = false;                ///< the head's weight is the embedding's
  std::string attention_norm, mlp_norm;  ///< names inside a layer, for SmoothQuant's default mappings
};

namespace detail {

/// Names of transformers' classes.
struct ModuleClasses {
  std::string_view family, model, layer, attention, mlp, norm;
};
inline constexpr std::array module_classes{
    ModuleClasses{"llama", "LlamaModel", "LlamaDecoderLayer", "LlamaAttention", "LlamaMLP", "LlamaRMSNorm"},
    ModuleClasses{"qwen2", "Qwen2Model", "Qwen2DecoderLayer", "Qwen2Attention", "Qwen2MLP", "Qwen2RMSNorm"},
    ModuleClasses{"qwen3", "Qwen3Model", "Qwen3DecoderLayer", "Qwen3Attention", "Qwen3MLP", "Qwen3RMSNorm"},
    ModuleClasses{"mistral", "MistralModel", "MistralDecoderLayer", "MistralAttention", "MistralMLP", "MistralRMSNorm"},
    ModuleClasses{"smollm3", "SmolLM3Model", "SmolLM3DecoderLayer", "SmolLM3Attention", "SmolLM3MLP", "SmolLM3RMSNorm"},
    ModuleClasses{"granite", "GraniteModel", "GraniteDecoderLayer", "GraniteAttention", "GraniteMLP", "GraniteRMSNorm"},
    ModuleClasses{"gemma", "GemmaModel", "GemmaDecoderLayer", "GemmaAttention", "GemmaMLP", "GemmaRMSNorm"},
    ModuleClasses{"gemma3_text", "Gemma3TextModel", "Gemma3DecoderLayer", "Gemma3Attention", "Gemma3MLP",
                  "Gemma3RMSNorm"},
    ModuleClasses{"olmo2", "Olmo2Model", "Olmo2DecoderLayer", "Olmo2Attention", "Olmo2MLP", "Olmo2RMSNorm"},
    ModuleClasses{"phi3", "Phi3Model", "Phi3DecoderLayer", "Phi3Attention", "Phi3MLP", "Phi3RMSNorm"},
    ModuleClasses{"gemma2", "Gemma2Model", "Gemma2DecoderLayer", "Gemma2Attention", "Gemma2MLP", "Gemma2RMSNorm"},
    ModuleClasses{"mixtral", "MixtralModel", "MixtralDecoderLayer", "MixtralAttention", "MixtralSparseMoeBlock",
                  "MixtralRMSNorm"},
    ModuleClasses{"qwen2_moe", "Qwen2MoeModel", "Qwen2MoeDecoderLayer", "Qwen2MoeAttention", "Qwen2MoeMLP",
                  "Qwen2MoeRMSNorm"},
    ModuleClasses{"qwen3_moe", "Qwen3MoeModel", "Qwen3MoeDecoderLayer", "Qwen3MoeAttention", "Qwen3MoeMLP",
                  "Qwen3MoeRMSNorm"},
    ModuleClasses{"olmoe", "OlmoeModel", "OlmoeDecoderLayer", "OlmoeAttention", "OlmoeMLP", "OlmoeRMSNorm"},
    ModuleClasses{"gpt_oss", "GptOssModel", "GptOssDecoderLayer", "GptOssAttention", "GptOssMLP", "GptOssRMSNorm"},
    ModuleClasses{"starcoder2", "Starcoder2Model", "Starcoder2DecoderLayer", "Starcoder2Attention", "Starcoder2MLP",
                  "LayerNorm"},
    ModuleClasses{"phi", "PhiModel", "PhiDecoderLayer", "PhiAttention", "PhiMLP", "LayerNorm"},
    ModuleClasses{"opt", "OPTModel", "OPTDecoderLayer", "OPTAttention", "", "LayerNorm"},
    ModuleClasses{"gpt2", "GPT2Model", "GPT2Block", "GPT2Attention", "GPT2MLP", "LayerNorm"},
    ModuleClasses{"gptj", "GPTJModel", "GPTJBlock", "GPTJAttention", "GPTJMLP", "LayerNorm"},
    ModuleClasses{"gpt_neo", "GPTNeoModel", "GPTNeoBlock", "GPTNeoSelfAttention", "GPTNeoMLP", "LayerNorm"},
    ModuleClasses{"gpt_neox", "GPTNeoXModel", "GPTNeoXLayer", "GPTNeoXAttention", "GPTNeoXMLP", "LayerNorm"},
    ModuleClasses{"bloom", "BloomModel", "BloomBlock", "BloomAttention", "BloomMLP", "LayerNorm"},
    ModuleClasses{"mpt", "MptModel", "MptBlock", "MptAttention", "MptMLP", "LayerNorm"},
    ModuleClasses{"falcon", "FalconModel", "FalconDecoderLayer", "FalconAttention", "FalconMLP", "LayerNorm"},
    ModuleClasses{"codegen", "CodeGenModel", "CodeGenBlock", "CodeGenAttention", "CodeGenMLP", "LayerNorm"}};

class ModuleListBuilder {
 public:
  explicit ModuleListBuilder(const Architecture& model) : model_(model) {
    for (const ModuleClasses& each : module_classes) {
      if (each.family == model.family) classes_ = each;
    }
  }

  ModuleList build() {
    const WeightNames& names = model_.names;
    const std::string root = names.embedding.substr(0, names.embedding.find('.'));
    const std::size_t top = add({Module::Kind::container, root, std::string(classes_.model), 0, 0, {}, {}}, none);
    add({Module::Kind::embedding, names.embedding, "Embedding", model_.vocabulary, model_.embedding_columns(), {}, {}},
        top);
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) add_layer(layer, top);
    if (!names.final_norm.empty())
      add({Module::Kind::norm, names.final_norm, std::string(classes_.norm), model_.hidden, 1, {}, {}}, top);
    add({Module::Kind::linear, names.head, "Linear", model_.vocabulary, model_.embedding_columns(), {}, {}}, none);
    list_.embedding = names.embedding;
    list_.head = names.head;
    list_.tied_head = model_.tied_head;
    list_.attention_norm = names.attention_norm;
    list_.mlp_norm = names.mlp_norm;
    return std::move(list_);
  }

 private:
  static constexpr std::size_t none = Module::no_parent;

  std::size_t add(Module module, std::size_t parent) {
    module.parent = parent;
    list_.modules.push_back(std::move(module));
    return list_.modules.size() - 1;
  }

  void add_layer(std::size_t layer, std::size_t top) {
    const WeightNames& names = model_.names;
    const LayerSpec& spec = model_.layers[layer];
    const std::string prefix = model_.layer_prefix(layer);
    const std::string name = prefix.substr(0, prefix.size() - 1);
    const std::size_t whole = add({Module::Kind::container, name, std::string(classes_.layer), 0, 0, layer, {}}, top);
    const auto container = [&](const std::string& first, std::string_view class_name) {
      if (first.find('.') == std::string::npos) return whole;  // OPT's MLP has no module of its own
      const std::string inner = first.substr(0, first.find('.'));
      return add({Module::Kind::container, prefix + inner, std::string(class_name), 0, 0, layer, {}}, whole);
    };
    const auto norm = [&](const std::string& inner, std::size_t size, std::size_t parent) {
      if (inner.empty()) return;
      add({Module::Kind::norm, prefix + inner, std::string(classes_.norm), size, 1, layer, {}}, parent);
    };
    const auto linear = [&](const std::string& inner, std::size_t rows, std::size_t columns, std::size_t parent,
                            Module::Reads reads) {
      if (inner.empty()) return;
      add({Module::Kind::linear, prefix + inner, "Linear", rows, columns, layer, {}, reads}, parent);
    };
    using Reads = Module::Reads;
    const Reads attention_reads =
        names.attention_norm.empty() || spec.residual == Residual::post_norm ? Reads::other : Reads::attention_norm;
    const bool parallel = spec.residual == Residual::parallel;
    const Reads mlp_reads = spec.residual == Residual::post_norm ? Reads::other
                            : !names.mlp_norm.empty()            ? Reads::mlp_norm
                            : parallel                           ? attention_reads
                                                                 : Reads::other;
    norm(names.attention_norm, model_.hidden, whole);
    const std::size_t attention = container(names.output, classes_.attention);
    linear(names.query, model_.query_rows(), model_.hidden, attention, attention_reads);
    linear(names.key, model_.kv_rows(), model_.hidden, attention, attention_reads);
    linear(names.value, model_.kv_rows(), model_.hidden, attention, attention_reads);
    linear(names.query_key_value, model_.qkv_rows(), model_.hidden, attention, attention_reads);
    linear(names.output, model_.hidden, model_.query_rows(), attention, Reads::other);
    norm(names.query_norm, model_.query_norm_size(spec), attention);
    norm(names.key_norm, model_.key_norm_size(spec), attention);
    norm(names.attention_post_norm, model_.hidden, whole);
    norm(names.mlp_norm, model_.hidden, whole);
    const std::size_t mlp = container(spec.is_mixture() ? names.router : names.up, classes_.mlp);
    if (spec.is_mixture()) {
      add_experts(layer, mlp, mlp_reads);
    } else {
      linear(names.gate, spec.intermediate, model_.hidden, mlp, mlp_reads);
      linear(names.up, model_.up_tensor_rows(spec), model_.hidden, mlp, mlp_reads);
      linear(names.down, model_.hidden, spec.intermediate, mlp, Reads::other);
    }
    norm(names.mlp_post_norm, model_.hidden, whole);
  }

  /// Those of a mixture. The router is no linear layer here: it stays in floats.
  void add_experts(std::size_t layer, std::size_t mlp, Module::Reads mlp_reads) {
    const LayerSpec& spec = model_.layers[layer];
    const WeightNames& names = model_.names;
    const std::size_t count = spec.experts.count + (spec.experts.shared_intermediate == 0 ? 0 : 1);
    for (std::size_t expert = 0; expert < count; ++expert) {
      const std::string prefix = model_.expert_prefix(layer, expert);
      const std::size_t columns = spec.expert_columns(expert);
      const std::size_t whole = add(
          {Module::Kind::container, prefix.substr(0, prefix.size() - 1), std::string(classes_.mlp), 0, 0, layer, {}},
          mlp);
      const auto linear = [&](const std::string& inner, std::size_t rows, std::size_t of_columns, Module::Reads reads) {
        if (inner.empty()) return;
        add({Module::Kind::linear, prefix + inner, "Linear", rows, of_columns, layer, {}, reads, true}, whole);
      };
      linear(names.expert_gate, columns, model_.hidden, mlp_reads);
      linear(names.expert_up, names.expert_gate.empty() ? spec.up_rows(columns) : columns, model_.hidden, mlp_reads);
      linear(names.expert_down, model_.hidden, columns, Module::Reads::other);
    }
  }

  const Architecture& model_;
  ModuleClasses classes_{"", "Model", "DecoderLayer", "Attention", "MLP", "Norm"};
  ModuleList list_;
};

}  // namespace detail

/// All modules with weights, and those that hold them, each after its container.
inline ModuleList module_list(const Architecture& model) {
  return detail::ModuleListBuilder(model).build();
}

}  // namespace tulle
