// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/lora/lora_adapter.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/lora/lora_folder.hpp"

using namespace tulle;
using test::lora_name;
using test::LoraFolder;
using test::LoraTensor;

namespace {

LoraAdapter open(const std::string& path) {
  return LoraAdapter(DirectoryFiles(path));
}

std::optional<ErrorCode> code_of(const std::vector<LoraTensor>& tensors) {
  const LoraFolder folder(tensors);
  return test::error_of([&] { (void)open(folder.path()); });
}

}  // namespace

TEST_CASE("an adapter's two matrices are multiplied and scaled", "[format][lora_adapter]") {
  const LoraFolder folder({{lora_name("a.q", "lora_A"), {2, 3}}, {lora_name("a.q", "lora_B"), {1, 2}}});
  const LoraAdapter adapter = open(folder.path());
  REQUIRE(adapter.changes().size() == 1);
  const auto& change = adapter.changes().at("a.q");
  CHECK(change.rows() == 1);
  CHECK(change.columns() == 3);
  CHECK(change.scale == 4.f);  // PEFT's alpha is 8 where a config has none
  const auto product = adapter.product(change, 0.5f);
  CHECK(product->left.values == std::vector<float>{1, 3});
  CHECK(product->right.values == std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f});
}

TEST_CASE("an embedding's matrices are taken transposed", "[format][lora_adapter]") {
  const LoraFolder folder(
      {{"base_model.model.e.lora_embedding_A", {2, 3}}, {"base_model.model.e.lora_embedding_B", {1, 2}}});
  const LoraAdapter adapter = open(folder.path());
  const auto& change = adapter.changes().at("e");
  CHECK(change.rows() == 3);
  CHECK(change.columns() == 1);
  const auto product = adapter.product(change, 0.25f);
  CHECK(product->left.values == std::vector<float>{0.5f, 3.5f, 1.5f, 4.5f, 2.5f, 5.5f});
  CHECK(product->right.values == std::vector<float>{0.5f, 1.5f});
}

TEST_CASE("an adapter may be named in its tensors, be a pickle, and bring tensors whole", "[format][lora_adapter]") {
  const LoraAdapter plain = open(TULLE_GOLDEN "/lora/llama/adapter");
  CHECK(plain.changes().size() == 10);
  for (const char* name : {"/lora/named", "/lora/pickled"}) {
    const LoraAdapter adapter = open(std::string(TULLE_GOLDEN) + name);
    REQUIRE(adapter.changes().size() == plain.changes().size());
    for (const auto& [module, change] : plain.changes()) {
      const auto a = plain.product(change, 1), b = adapter.product(adapter.changes().at(module), 1);
      CHECK(a->left.values == b->left.values);
      CHECK(a->right.values == b->right.values);
    }
  }
  const LoraAdapter whole = open(TULLE_GOLDEN "/lora/embedding/adapter");
  CHECK(whole.replaced().size() == 3);
  CHECK(whole.replaced().contains("lm_head.weight"));
  CHECK(whole.replaced().contains("model.norm.weight"));
  CHECK(whole.replaced().contains("model.embed_tokens.weight"));
}

TEST_CASE("an adapter that is not whole is refused", "[format][lora_adapter]") {
  const LoraTensor a{lora_name("q", "lora_A"), {2, 3}}, b{lora_name("q", "lora_B"), {1, 2}};
  CHECK(code_of({a, b}) == std::nullopt);
  CHECK(code_of({a}) == ErrorCode::malformed);
  CHECK(code_of({b}) == ErrorCode::malformed);
  CHECK(code_of({}) == ErrorCode::malformed);
  CHECK(code_of({a, b, {"base_model.model.q.lora_A.x.weight", {2, 3}}}) == ErrorCode::malformed);  // twice
  CHECK(code_of({a, {b.name, {1, 3}}}) == ErrorCode::malformed);                                   // another rank
  CHECK(code_of({{a.name, {3, 3}}, {b.name, {1, 3}}}) == ErrorCode::malformed);                    // than the config's
  CHECK(code_of({{a.name, {0, 3}}, {b.name, {1, 0}}}) == ErrorCode::malformed);
  CHECK(code_of({{a.name, {2, 3, 1}}, b}) == ErrorCode::unsupported);
  CHECK(code_of({{a.name, {6}}, b}) == ErrorCode::unsupported);
  CHECK(code_of({{a.name, {2, 3}, "I32"}, b}) == ErrorCode::unsupported);
  CHECK(code_of({a, {"base_model.model.q.lora_embedding_B", {1, 2}}}) == ErrorCode::malformed);
  CHECK(code_of({a, b, {"base_model.model.q.lora_magnitude_vector.weight", {1}}}) == ErrorCode::unsupported);
  CHECK(code_of({a, b, {"base_model.model.q.lora_B.bias", {1}}}) == ErrorCode::unsupported);
  CHECK(code_of({{"q.lora_A.weight", {2, 3}}, {"q.lora_B.weight", {1, 2}}}) == ErrorCode::unsupported);
}

TEST_CASE("a directory without an adapter says what was looked for", "[format][lora_adapter]") {
  const test::TemporaryFolder folder;
  const auto code = [&] { return test::error_of([&] { (void)open(folder.path()); }); };
  CHECK(code() == ErrorCode::not_found);
  folder.write("adapter_config.json", R"({"peft_type": "LORA"})");
  CHECK(code() == ErrorCode::not_found);
  folder.write("adapter_config.json", "[]");
  CHECK(code() == ErrorCode::malformed);
}

TEST_CASE("no bytes of an adapter break its reader", "[format][lora_adapter][mutations]") {
  const test::TemporaryFolder folder;
  folder.write("adapter_config.json", R"({"peft_type":"LORA","r":2})");
  const auto file = test::lora_file({{lora_name("q", "lora_A"), {2, 3}}, {lora_name("q", "lora_B"), {1, 2}}});
  const std::size_t refused = test::survive_mutations(file, 500, [&](const test::Bytes& bytes) {
    folder.write("adapter_model.safetensors", bytes);
    const LoraAdapter adapter = open(folder.path());
    for (const auto& [module, change] : adapter.changes()) (void)adapter.product(change, 1);
  });
  CHECK(refused > 500);
  const std::string config = R"({"peft_type":"LORA","r":2,"rank_pattern":{"q":2}})";
  folder.write("adapter_model.safetensors", file);
  CHECK(test::survive_mutations(test::to_bytes(config), 500, [&](const test::Bytes& bytes) {
          folder.write("adapter_config.json", bytes);
          (void)open(folder.path());
        }) > 200);
}
