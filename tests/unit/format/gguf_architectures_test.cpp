// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_architectures.hpp>

#include <catch2/catch_all.hpp>
#include <string_view>

using namespace tulle;

TEST_CASE("architectures of one name are told apart by a tensor", "[format][gguf_architectures]") {
  const auto& all = detail::gguf_architectures;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].model_type);
    const bool again = i + 1 < all.size() && std::string_view(all[i].name) == all[i + 1].name;
    CHECK((all[i].tensor != nullptr) == again);
    if (all[i].window == detail::GgufWindow::some_layers) CHECK(all[i].window_period > 1);
  }
}

TEST_CASE("an architecture is found by the model type that is written in it", "[format][gguf_architectures]") {
  REQUIRE(detail::written_gguf_architecture("granite") != nullptr);
  CHECK(std::string_view(detail::written_gguf_architecture("llama")->class_name) == "LlamaForCausalLM");
  CHECK(detail::written_gguf_architecture("falcon") == nullptr);
  CHECK(detail::written_gguf_architecture("mixtral") == nullptr);
  CHECK(detail::written_gguf_architecture(nullptr) == nullptr);
}
