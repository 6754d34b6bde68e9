// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/hub_names.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/input_file.hpp>
#include <tulle/model/families.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

/// Tensors of two columns and three rows, over one file of zeros, after `complete_hub_names`. One named "NAME!" has
/// another last byte.
struct Renamed {
  Renamed(const char* model_type, const std::vector<std::string>& names, const Json& tied = nullptr)
      : config{{"model_type", model_type}, {"tie_word_embeddings", tied}} {
    bytes.back() = std::byte{1};
    const InputFile& file = tensors.keep(std::make_shared<const InputFile>(bytes));
    for (const std::string& name : names) {
      EncodedTensor tensor;
      tensor.name = name.substr(0, name.find('!'));
      tensor.shape = {2, 3};
      tensor.file_offset = name.ends_with('!') ? 48 : 24 * (tensors.names().size() % 2);
      tensors.add(tensor, file, "x");
    }
    complete_hub_names(config, tensors, "x");
  }
  bool has(std::string_view name) const { return tensors.find(name) != nullptr; }

  Json config;
  std::vector<std::byte> bytes = std::vector<std::byte>(72);
  TensorFiles tensors;
};

}  // namespace

TEST_CASE("names that lack what the model with a head puts before them get it", "[format][hub_names]") {
  const Renamed gpt2("gpt2", {"wte.weight", "h.0.attn.c_attn.weight", "lm_head.weight"});
  CHECK(gpt2.tensors.find("transformer.wte.weight") != nullptr);
  CHECK(gpt2.tensors.find("lm_head.weight") != nullptr);
  CHECK(gpt2.tensors.find("wte.weight") == nullptr);
  CHECK(gpt2.tensors.find("transformer.h.0.attn.c_attn.weight")->name == "transformer.h.0.attn.c_attn.weight");
  const Renamed opt("opt", {"decoder.embed_tokens.weight"});
  CHECK(opt.tensors.find("model.decoder.embed_tokens.weight") != nullptr);
  const Renamed whole("bloom", {"transformer.word_embeddings.weight", "extra"});
  CHECK(whole.tensors.find("extra") != nullptr);
  CHECK(Renamed("qwen3", {"embed_tokens.weight", "norm.weight"}).has("model.norm.weight"));
  const Renamed neox("gpt_neox", {"embed_in.weight", "embed_out.weight"});
  CHECK((neox.has("gpt_neox.embed_in.weight") && neox.has("embed_out.weight")));
}

TEST_CASE("GPT-2's layers are known to be transposed", "[format][hub_names]") {
  const Renamed gpt2("gpt2", {"wte.weight", "h.0.mlp.c_fc.weight", "h.0.ln_1.weight", "wpe.weight"});
  const EncodedTensor& turned = *gpt2.tensors.find("transformer.h.0.mlp.c_fc.weight");
  CHECK(turned.transposed);
  CHECK(turned.shape == std::vector<std::size_t>{3, 2});
  CHECK_FALSE(gpt2.tensors.find("transformer.wpe.weight")->transposed);
  CHECK(is_transposed_in_hub({{"model_type", "gpt2"}}, "h.1.attn.c_proj.weight"));
  CHECK_FALSE(is_transposed_in_hub({{"model_type", "gpt_neo"}}, "h.1.mlp.c_proj.weight"));
  const auto matrix = gpt2.tensors.matrix("transformer.h.0.mlp.c_fc");
  CHECK(matrix->rows() == 3);
  CHECK(matrix->columns() == 2);
}

TEST_CASE("a config without a model type changes nothing", "[format][hub_names]") {
  TensorFiles tensors;
  for (const Json& given : {Json{{"model_type", 3}}, Json(3)}) {
    Json config = given;
    CHECK(test::error_of([&] { complete_hub_names(config, tensors, "x"); }) == std::nullopt);
    CHECK(config == given);
  }
}

TEST_CASE("a head that differs from the embedding is not tied to it", "[format][hub_names]") {
  const std::string rows = "model.embed_tokens.weight", head = "lm_head.weight";
  for (const Json& tied : {Json(true), Json()}) {
    CHECK(Renamed("llama", {rows, head}, tied).config["tie_word_embeddings"] == tied);
    CHECK(Renamed("llama", {rows, head + "!"}, tied).config["tie_word_embeddings"] == false);
    CHECK(Renamed("llama", {"model.embed_tokens.weight_packed", head}, tied).config["tie_word_embeddings"] == false);
  }
  for (const char* form : {"weight_packed", "qweight", "weight_mask", "bitmask"}) {
    CHECK(Renamed("llama", {rows, std::string("lm_head.") + form}, true).config["tie_word_embeddings"] == false);
  }
  CHECK(Renamed("gemma2", {"embed_tokens.weight", head + "!"}).config["tie_word_embeddings"] == false);
  CHECK(Renamed("llama", {rows, head + "!"}, "yes").config["tie_word_embeddings"] == false);
}

TEST_CASE("a head without an embedding that it is tied to is the embedding", "[format][hub_names]") {
  const Renamed alone("llama", {"lm_head.weight", "lm_head.weight_scale", "model.norm.weight"}, true);
  CHECK((alone.has("model.embed_tokens.weight") && alone.has("model.embed_tokens.weight_scale")));
  const Renamed packed("llama", {"lm_head.qweight", "lm_head.scales", "model.norm.weight"}, true);
  CHECK((packed.has("model.embed_tokens.qweight") && packed.has("model.embed_tokens.scales")));
  CHECK((alone.has("model.norm.weight") && !alone.has("lm_head.weight")));
  CHECK(Renamed("gpt_neox", {"embed_out.weight"}, true).has("gpt_neox.embed_in.weight"));
  CHECK(Renamed("llama", {"lm_head.weight"}, false).has("lm_head.weight"));
}

TEST_CASE("names of parts are those of the descriptions of all families", "[format][hub_names]") {
  for (const Family& family : families()) {
    CAPTURE(family.model_type);
    const WeightNames names = family.describe({{"model_type", family.model_type}}, "x").names;
    const detail::HubFamily parts = detail::hub_family(family.model_type);
    CHECK(names.embedding == std::string(parts.prefix).append(parts.embedding));
    CHECK(names.head == parts.head);
    CHECK(names.final_norm.starts_with(parts.prefix));
  }
}
