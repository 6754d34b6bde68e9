// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/lora/adapted_tensors.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <vector>

#include <tulle/format/checkpoint.hpp>

#include "unit/format/lora/lora_folder.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;
using test::lora_name;
using test::LoraFolder;
using test::LoraTensor;

namespace {

const std::string golden = TULLE_GOLDEN;

std::shared_ptr<const Checkpoint> open(const std::vector<std::string>& adapters,
                                       const std::string& model = "llama-tiny-gqa") {
  std::vector<AdapterPath> paths;
  for (const std::string& path : adapters) paths.push_back({path, 1});
  return Checkpoint::open(golden + "/models/" + model, paths);
}

std::string message_of(const std::vector<LoraTensor>& tensors, ErrorCode code) {
  const LoraFolder folder(tensors);
  CHECK(test::error_of([&] { (void)open({folder.path()}); }) == code);
  return test::message_of([&] { (void)open({folder.path()}); });
}

std::vector<float> row_of(const Checkpoint& checkpoint, const std::string& name, std::size_t row) {
  const auto matrix = checkpoint.matrix(name);
  std::vector<float> values(matrix->columns());
  matrix->decode_row(row, values.data());
  return values;
}

}  // namespace

TEST_CASE("adapters add up, each with its scale, and other matrices stay", "[format][adapted_tensors]") {
  const std::string name = "model.layers.0.self_attn.q_proj";
  const LoraFolder folder({{lora_name(name, "lora_A"), {2, 48}}, {lora_name(name, "lora_B"), {48, 2}}});
  const auto plain = open({});
  const auto once = Checkpoint::open(golden + "/models/llama-tiny-gqa", {{folder.path(), 0.5f}});
  const auto twice =
      Checkpoint::open(golden + "/models/llama-tiny-gqa", {{folder.path(), 0.25f}, {folder.path(), 0.25f}});
  const auto base = row_of(*plain, name, 3), changed = row_of(*once, name, 3);
  for (std::size_t i = 0; i < base.size(); ++i) {
    const auto column = static_cast<float>(i);  // row 3 of B is {6.5, 7.5}; the adapter's own scale is 8 / 2
    const float change = 2 * (6.5f * (column + 0.5f) + 7.5f * (column + 48.5f));
    CHECK(std::fabs(changed[i] - base[i] - change) <= 1e-3f);
    CHECK(std::fabs(row_of(*twice, name, 3)[i] - changed[i]) <= 1e-3f);
  }
  CHECK(row_of(*once, "model.layers.1.self_attn.q_proj", 3) == row_of(*plain, "model.layers.1.self_attn.q_proj", 3));
  CHECK(once->is_adapted(name));
  CHECK_FALSE(once->is_adapted("model.layers.1.self_attn.q_proj"));
  CHECK(once->adapters().size() == 1);
  CHECK(once->names() == plain->names());
}

TEST_CASE("tensors that an adapter brings whole take the place of the model's", "[format][adapted_tensors]") {
  const auto plain = open({}), changed = open({golden + "/lora/embedding/adapter"});
  for (const std::string name : {"lm_head.weight", "model.norm.weight", "model.embed_tokens.weight"}) {
    CAPTURE(name);
    REQUIRE(changed->find(name) != nullptr);
    CHECK(changed->find(name)->name == name);
    const auto before = read_floats(*plain, *plain->find(name)), after = read_floats(*changed, *changed->find(name));
    CHECK(before.size() == after.size());
    CHECK((before == after) == (name == "model.embed_tokens.weight"));  // PEFT's copy of what the change is added to
  }
  CHECK(row_of(*changed, "lm_head", 5) != row_of(*plain, "lm_head", 5));
  CHECK(row_of(*changed, "model.embed_tokens", 5) != row_of(*plain, "model.embed_tokens", 5));
}

TEST_CASE("two adapters may bring one tensor only where it is the same", "[format][adapted_tensors]") {
  const LoraFolder other({{"base_model.model.model.norm.weight", {48}}});
  const std::string first = golden + "/lora/embedding/adapter";
  CHECK(test::error_of([&] { (void)open({first, first}); }) == std::nullopt);
  CHECK(test::error_of([&] { (void)open({first, other.path()}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("an adapter of another model is refused", "[format][adapted_tensors]") {
  const std::string q = "model.layers.0.self_attn.q_proj";
  CHECK_THAT(message_of({{lora_name(q, "lora_A"), {2, 64}}, {lora_name(q, "lora_B"), {48, 2}}}, ErrorCode::malformed),
             ContainsSubstring("[48, 64]") && ContainsSubstring("[48, 48]") && ContainsSubstring(q));
  const std::string missing = "model.layers.7.self_attn.q_proj";
  CHECK_THAT(message_of({{lora_name(missing, "lora_A"), {2, 48}}, {lora_name(missing, "lora_B"), {48, 2}}},
                        ErrorCode::not_found),
             ContainsSubstring(missing) && ContainsSubstring("trained on this model"));
  (void)message_of({{"base_model.model.score.weight", {2, 48}}}, ErrorCode::not_found);
  (void)message_of({{"base_model.model.lm_head.weight", {300, 48}}}, ErrorCode::malformed);
  (void)message_of({{"base_model.model.model.norm.weight", {47}}}, ErrorCode::malformed);
  (void)message_of({{"base_model.model.model.norm.bias", {48}}}, ErrorCode::not_found);
  (void)message_of({{"base_model.model.lm_head.weight", {48}}}, ErrorCode::malformed);
  CHECK(test::error_of([] { (void)open({golden + "/lora/gpt2/adapter"}); }) == ErrorCode::not_found);
  CHECK(test::error_of([] { (void)open({golden + "/no-such-adapter"}); }) == ErrorCode::not_found);
  CHECK(test::error_of([] {
          (void)Checkpoint::open(golden + "/models/llama-tiny-gqa", {{golden + "/lora/llama/adapter", NAN}});
        }) == ErrorCode::invalid_argument);
}
