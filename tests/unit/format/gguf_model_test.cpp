// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_model.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/format/gguf.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

GgufModel model_of(const GgufBuilder& gguf) {
  const Bytes bytes = gguf.build();
  return gguf_model(parse_gguf(bytes, "f.gguf"));
}

std::optional<ErrorCode> code_of(const GgufBuilder& gguf) {
  return error_of([&] { model_of(gguf); });
}

}  // namespace

TEST_CASE("heads have the sizes that the metadata say, or follow from", "[format][gguf_model]") {
  const GgufModel model = model_of(tiny_llama_gguf());
  CHECK(std::string_view(model.architecture->model_type) == "llama");
  CHECK(model.prefix() == "llama.");
  CHECK((model.layers == 1 && model.heads == 2 && model.kv_heads == 2 && model.head_dim == 2 && model.rotary_dim == 2));
  CHECK(model.experts == 0);
  const GgufModel other = model_of(tiny_llama_gguf()
                                       .u32("llama.attention.head_count_kv", 1)
                                       .u32("llama.attention.key_length", 6)
                                       .u32("llama.attention.value_length", 6)
                                       .u32("llama.rope.dimension_count", 6));
  CHECK((other.kv_heads == 1 && other.head_dim == 6 && other.rotary_dim == 6));
}

TEST_CASE("a router makes a llama a mixtral", "[format][gguf_model]") {
  const GgufBuilder router = tiny_llama_gguf().tensor("blk.0.ffn_gate_inp.weight", {4, 3}, 0, float_bytes(12));
  CHECK(code_of(router) == ErrorCode::malformed);
  const GgufModel model = model_of(GgufBuilder(router).u32("llama.expert_count", 3));
  CHECK(std::string_view(model.architecture->model_type) == "mixtral");
  CHECK(model.experts == 3);
  CHECK(code_of(GgufBuilder(router).u32("llama.expert_count", 0)) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder(router).u32("llama.expert_count", 1u << 20)) == ErrorCode::malformed);
  CHECK(code_of(tiny_llama_gguf().u32("llama.expert_count", 3)) == ErrorCode::unsupported);
  CHECK(code_of(tiny_llama_gguf().u32("llama.expert_count", 0)) == std::nullopt);
}

TEST_CASE("sizes that make no model are refused", "[format][gguf_model]") {
  for (const char* key : {"attention.head_count_kv", "attention.key_length", "rope.dimension_count"}) {
    CAPTURE(key);
    const std::string full = std::string("llama.") + key;
    CHECK(code_of(tiny_llama_gguf().u32(full, 0)) == ErrorCode::malformed);
    CHECK(code_of(tiny_llama_gguf().u32(full, 2000000000)) == ErrorCode::malformed);
    CHECK(code_of(tiny_llama_gguf().value<std::int64_t>(full, 11, -5)) == ErrorCode::malformed);
    CHECK(code_of(tiny_llama_gguf().f32(full, 2)) == ErrorCode::malformed);
    CHECK(code_of(tiny_llama_gguf().array<std::uint32_t>(full, 4, {2})) == ErrorCode::unsupported);
  }
  CHECK(code_of(GgufBuilder().text("general.architecture", "phi2")) == ErrorCode::malformed);
  const std::string message = message_of([] { model_of(GgufBuilder().text("general.architecture", "mamba")); });
  CHECK(message.find("known are llama, granite, ") != std::string::npos);
  CHECK(message.find("falcon, qwen2moe") != std::string::npos);
}
