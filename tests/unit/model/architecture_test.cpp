// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/architecture.hpp>

#include <catch2/catch_all.hpp>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

Architecture valid() {
  return describe_model(testing::llama_config(), "config.json");
}

}  // namespace

TEST_CASE("row counts follow from heads and the kind of MLP", "[model][architecture]") {
  Architecture model = valid();
  CHECK(model.query_rows() == 64);
  CHECK(model.kv_rows() == 32);
  CHECK(model.qkv_rows() == 128);
  CHECK(model.up_rows() == 192);
  CHECK(model.rotary.dimensions() == 16);
  model.mlp = MlpKind::gelu;
  CHECK(model.up_rows() == 96);
  CHECK_NOTHROW(model.validate("config.json"));
}

TEST_CASE("numbers that make no decoder are refused by name", "[model][architecture]") {
  using Change = std::function<void(Architecture&)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"vocabulary", [](Architecture& m) { m.vocabulary = 0; }},
      {"vocabulary", [](Architecture& m) { m.vocabulary = std::size_t{1} << 40; }},
      {"hidden", [](Architecture& m) { m.hidden = 0; }},
      {"hidden", [](Architecture& m) { m.hidden = std::numeric_limits<std::size_t>::max(); }},
      {"layers", [](Architecture& m) { m.layers = 0; }},
      {"layers", [](Architecture& m) { m.layers = 1'000'000; }},
      {"heads", [](Architecture& m) { m.heads = m.kv_heads = 0; }},
      {"multiple", [](Architecture& m) { m.kv_heads = 0; }},
      {"multiple", [](Architecture& m) { m.kv_heads = 3; }},
      {"multiple", [](Architecture& m) { m.kv_heads = 8; }},
      {"head dimension", [](Architecture& m) { m.head_dim = 0; }},
      {"head dimension", [](Architecture& m) { m.head_dim = 4097; }},
      {"head dimension", [](Architecture& m) { m.heads = 65536, m.kv_heads = 1, m.head_dim = 4096; }},
      {"intermediate", [](Architecture& m) { m.intermediate = 0; }},
      {"context length", [](Architecture& m) { m.context_length = 0; }},
      {"epsilon", [](Architecture& m) { m.norm_epsilon = 0; }},
      {"epsilon", [](Architecture& m) { m.norm_epsilon = std::numeric_limits<float>::quiet_NaN(); }},
      {"rotary dimension", [](Architecture& m) { m.rotary.inverse_frequencies.resize(9, 1.0f); }},
      {"rotary", [](Architecture& m) { m.rotary.inverse_frequencies[0] = std::numeric_limits<float>::infinity(); }},
      {"order of the rows", [](Architecture& m) { m.query_order = RowOrder::halves_of_pairs(3, 16); }},
      {"order of the rows", [](Architecture& m) { m.key_order = RowOrder::of_blocks(2, 32, 0, 16); }},
      {"order of the rows", [](Architecture& m) { m.names.query_key_value = "qkv"; }},
      {"eos_token_id", [](Architecture& m) { m.eos = {2, 100}; }},
      {"eos_token_id", [](Architecture& m) { m.eos = {-1}; }},
  };
  for (const auto& [what, change] : changes) {
    Architecture model = valid();
    change(model);
    try {
      model.validate("some/config.json");
      FAIL("accepted a wrong " << what);
    } catch (const Error& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(error.code() == ErrorCode::malformed);
      CHECK(message.find("some/config.json") == 0);
      CHECK(message.find(what) != std::string::npos);
    }
  }
}
