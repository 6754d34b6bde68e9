// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_names.hpp>

#include <catch2/catch_all.hpp>
#include <set>
#include <string>
#include <tulle/format/gguf_architectures.hpp>

using namespace tulle;

TEST_CASE("every table has a name once, and no two tensors get one name", "[format][gguf_names]") {
  for (const detail::GgufArchitecture& architecture : detail::gguf_architectures) {
    CAPTURE(architecture.model_type);
    std::set<std::string> gguf, hub;
    for (const detail::GgufName& each : architecture.names->outside) {
      CHECK(gguf.insert(each.gguf).second);
      CHECK(hub.insert(each.huggingface).second);
    }
    for (const char* name : {"token_embd", "output_norm", "output"}) CHECK(gguf.contains(name));
    for (const auto& table : architecture.names->tables) {
      for (const detail::GgufName& each : table) {
        if (gguf.insert(each.gguf).second) hub.insert(each.huggingface);
      }
    }
    CHECK(std::string(architecture.names->layer).back() == '.');
    CHECK((gguf.contains("attn_q") || gguf.contains("attn_qkv")));
    CHECK((gguf.contains("ffn_down") && gguf.contains("attn_output")));
    CHECK(hub.size() <= gguf.size());
  }
}
