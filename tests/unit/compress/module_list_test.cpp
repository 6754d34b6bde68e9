// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/module_list.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

const Module* find(const ModuleList& list, std::string_view name) {
  for (const Module& module : list.modules) {
    if (module.name == name) return &module;
  }
  return nullptr;
}

std::string names(const ModuleList& list, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += list.modules[i].name + " " + list.modules[i].class_name + "\n";
  return text;
}

}  // namespace

TEST_CASE("llama's modules have transformers' names and classes", "[compress][module_list]") {
  const ModuleList list = tiny_modules(2);
  CHECK(names(list, 14) ==
        "model LlamaModel\n"
        "model.embed_tokens Embedding\n"
        "model.layers.0 LlamaDecoderLayer\n"
        "model.layers.0.input_layernorm LlamaRMSNorm\n"
        "model.layers.0.self_attn LlamaAttention\n"
        "model.layers.0.self_attn.q_proj Linear\n"
        "model.layers.0.self_attn.k_proj Linear\n"
        "model.layers.0.self_attn.v_proj Linear\n"
        "model.layers.0.self_attn.o_proj Linear\n"
        "model.layers.0.post_attention_layernorm LlamaRMSNorm\n"
        "model.layers.0.mlp LlamaMLP\n"
        "model.layers.0.mlp.gate_proj Linear\n"
        "model.layers.0.mlp.up_proj Linear\n"
        "model.layers.0.mlp.down_proj Linear\n");
  CHECK(list.modules.size() == 2 + 2 * 12 + 2);
  CHECK(list.modules.back().name == "lm_head");
  CHECK(list.head == "lm_head");
  CHECK(list.embedding == "model.embed_tokens");
  CHECK_FALSE(list.tied_head);
  CHECK(tiny_modules(1, true).tied_head);
}

TEST_CASE("modules have the shapes of their weights", "[compress][module_list]") {
  const ModuleList list = tiny_modules(2);
  const auto shape = [&](std::string_view name) {
    const Module* module = find(list, name);
    REQUIRE(module != nullptr);
    return std::pair(module->rows, module->columns);
  };
  CHECK(shape("model.layers.1.self_attn.q_proj") == std::pair<std::size_t, std::size_t>(64, 64));
  CHECK(shape("model.layers.1.self_attn.v_proj") == std::pair<std::size_t, std::size_t>(32, 64));
  CHECK(shape("model.layers.1.mlp.down_proj") == std::pair<std::size_t, std::size_t>(64, 128));
  CHECK(shape("lm_head") == std::pair<std::size_t, std::size_t>(96, 64));
  CHECK(find(list, "model.layers.1.mlp.down_proj")->layer == 1);
  CHECK_FALSE(find(list, "lm_head")->layer);
}

TEST_CASE("every module comes after its container", "[compress][module_list]") {
  for (const char* family : {"llama", "qwen2", "codegen", "opt", "qwen2_moe", "mixtral"}) {
    const ModuleList list = tiny_modules(3, false, family);
    for (std::size_t i = 0; i < list.modules.size(); ++i) {
      const Module& module = list.modules[i];
      INFO(module.name);
      if (module.parent == Module::no_parent) continue;
      REQUIRE(module.parent < i);
      CHECK(module.name.starts_with(list.modules[module.parent].name + "."));
    }
  }
}

TEST_CASE("every family has its classes", "[compress][module_list]") {
  for (const Family& family : families()) {
    const ModuleList list = tiny_modules(1, false, std::string(family.model_type).c_str());
    CHECK(list.modules.front().class_name != "Model");
  }
  const ModuleList list = tiny_modules(1, false, "codegen");
  REQUIRE(find(list, "transformer.h.0.attn.qkv_proj") != nullptr);
  CHECK(find(list, "transformer.h.0.attn.qkv_proj")->rows == 3 * 64);
  CHECK(find(list, "transformer.h.0")->class_name == "CodeGenBlock");
  CHECK(find(list, "transformer.h.0.mlp.fc_in")->reads == Module::Reads::attention_norm);
}
