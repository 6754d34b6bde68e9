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
  CHECK(model.layers[0].up_rows() == 192);
  CHECK(model.max_up_rows() == 192);
  CHECK(model.rotary_tables[0].dimensions() == 16);
  model.layers[1].mlp = MlpKind::gelu;
  CHECK(model.layers[1].up_rows() == 96);
  CHECK(model.max_intermediate() == 96);
  CHECK_NOTHROW(model.validate("config.json"));
}

TEST_CASE("numbers that make no decoder are refused by name", "[model][architecture]") {
  using Change = std::function<void(Architecture&)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"vocabulary", [](Architecture& m) { m.vocabulary = 0; }},
      {"vocabulary", [](Architecture& m) { m.vocabulary = std::size_t{1} << 40; }},
      {"hidden", [](Architecture& m) { m.hidden = 0; }},
      {"hidden", [](Architecture& m) { m.hidden = std::numeric_limits<std::size_t>::max(); }},
      {"layers", [](Architecture& m) { m.layers.clear(); }},
      {"layers", [](Architecture& m) { m.layers.resize(4097); }},
      {"heads", [](Architecture& m) { m.heads = m.kv_heads = 0; }},
      {"multiple", [](Architecture& m) { m.kv_heads = 0; }},
      {"multiple", [](Architecture& m) { m.kv_heads = 3; }},
      {"multiple", [](Architecture& m) { m.kv_heads = 8; }},
      {"head dimension", [](Architecture& m) { m.head_dim = 0; }},
      {"head dimension", [](Architecture& m) { m.head_dim = 4097; }},
      {"head dimension", [](Architecture& m) { m.heads = 65536, m.kv_heads = 1, m.head_dim = 4096; }},
      {"intermediate", [](Architecture& m) { m.layers[1].intermediate = 0; }},
      {"context length", [](Architecture& m) { m.context_length = 0; }},
      {"epsilon", [](Architecture& m) { m.norm_epsilon = 0; }},
      {"epsilon", [](Architecture& m) { m.norm_epsilon = std::numeric_limits<float>::quiet_NaN(); }},
      {"rotary dimension", [](Architecture& m) { m.rotary_tables[0].inverse_frequencies.resize(9, 1.0f); }},
      {"rotary",
       [](Architecture& m) { m.rotary_tables[0].inverse_frequencies[0] = std::numeric_limits<float>::infinity(); }},
      {"order of the rows", [](Architecture& m) { m.query_order = RowOrder::halves_of_pairs(3, 16); }},
      {"order of the rows", [](Architecture& m) { m.key_order = RowOrder::of_blocks(2, 32, 0, 16); }},
      {"order of the rows", [](Architecture& m) { m.names.query_key_value = "qkv"; }},
      {"rotary table", [](Architecture& m) { m.layers[1].rotary = 1; }},
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

TEST_CASE("ids outside the vocabulary never end a text", "[model][architecture]") {
  Architecture model = valid();
  model.set_eos({2, 100, -1, 99});
  CHECK(model.eos == std::vector<Token>{2, 99});
  CHECK(model.impossible_eos == std::vector<Token>{100, -1});
  model.set_eos({7});
  CHECK(model.eos == std::vector<Token>{7});
  CHECK(model.impossible_eos.empty());
}

TEST_CASE("a number of layers is checked before they are made", "[model][architecture]") {
  Architecture model = valid();
  CHECK_THROWS_WITH(model.set_layers(0, {}, "x"), Catch::Matchers::ContainsSubstring("number of layers"));
  CHECK_THROWS_WITH(model.set_layers(std::size_t{1} << 40, {}, "x"), Catch::Matchers::ContainsSubstring("layers"));
}

TEST_CASE("the cache has a shape for every layer", "[model][architecture]") {
  Architecture model = valid();
  model.layers[1].window = {9};
  CHECK(cache_shape(model).layers == std::vector<LayerShape>{{2, 16}, {2, 16, {9}}});
  CHECK(cache_shape(model, 1) == LayerShape{2, 16, {9}});
}

TEST_CASE("a gated layer stacks gate and up", "[model][architecture]") {
  LayerSpec layer{.intermediate = 96};
  CHECK(layer.up_rows() == 192);
  layer.mlp = MlpKind::gelu;
  CHECK(layer.up_rows() == 96);
  CHECK(layer.window == Window{});
}
