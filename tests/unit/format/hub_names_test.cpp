// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/hub_names.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tulle/core/input_file.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

/// Tensors of two columns and three rows, over one file of zeros, after `complete_hub_names`.
struct Renamed {
  Renamed(const char* model_type, const std::vector<std::string>& names) {
    const InputFile& file = tensors.keep(std::make_shared<const InputFile>(bytes));
    for (const std::string& name : names) {
      EncodedTensor tensor;
      tensor.name = name;
      tensor.shape = {2, 3};
      tensors.add(tensor, file, "x");
    }
    complete_hub_names({{"model_type", model_type}}, tensors, "x");
  }
  std::vector<std::byte> bytes = std::vector<std::byte>(24);
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
  const Renamed other("llama", {"embed_tokens.weight"});
  CHECK(other.tensors.find("embed_tokens.weight") != nullptr);
}

TEST_CASE("GPT-2's layers are known to be transposed", "[format][hub_names]") {
  const Renamed gpt2("gpt2", {"h.0.mlp.c_fc.weight", "h.0.ln_1.weight", "wpe.weight"});
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
  CHECK(test::error_of([&] { complete_hub_names({{"model_type", 3}}, tensors, "x"); }) == std::nullopt);
  CHECK(test::error_of([&] { complete_hub_names(Json(3), tensors, "x"); }) == std::nullopt);
}
