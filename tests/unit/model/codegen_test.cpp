// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/codegen.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("a CodeGen config becomes its architecture", "[model][codegen]") {
  const Architecture model = codegen_architecture(testing::codegen_config(), "config.json");
  CHECK(model.family == "codegen");
  CHECK(model.vocabulary == 70);
  CHECK(model.hidden == 64);
  CHECK(model.heads == 4);
  CHECK(model.kv_heads == 4);
  CHECK(model.head_dim == 16);
  CHECK(model.layers[0].intermediate == 96);
  CHECK(model.context_length == 256);
  CHECK(model.norm == NormKind::layer);
  CHECK(model.layers[0].mlp == MlpKind::gelu);
  CHECK(model.layers[0].residual == Residual::parallel);
  CHECK(model.layers[0].mlp_bias);
  CHECK(model.head_bias);
  CHECK_FALSE((model.layers[0].qkv_bias || model.layers[0].output_bias));
  CHECK(model.query_order == RowOrder::of_blocks(2, 96, 0, 32));
  CHECK(model.value_order == RowOrder::of_blocks(2, 96, 32, 32));
  CHECK(model.key_order == RowOrder::of_blocks(2, 96, 64, 32));
  CHECK(model.rotary_tables[0].pairing == RotaryPairing::interleaved);
  CHECK(model.rotary_tables[0].dimensions() == 8);
}

TEST_CASE("what a CodeGen config leaves out is what transformers takes", "[model][codegen]") {
  const Architecture model = codegen_architecture(Json{{"model_type", "codegen"}}, "config.json");
  CHECK(model.vocabulary == 50400);
  CHECK(model.hidden == 4096);
  CHECK(model.layers.size() == 28);
  CHECK(model.heads == 16);
  CHECK(model.layers[0].intermediate == 16384);
  CHECK(model.rotary_tables[0].dimensions() == 64);
  CHECK(model.query_order.axes[0].count == 4);
  CHECK(model.eos == std::vector<Token>{50256});
  Json config = testing::codegen_config();
  config["n_inner"] = nullptr;
  CHECK(codegen_architecture(config, "x").layers[0].intermediate == 256);
}

TEST_CASE("CodeGen configs with wrong values are refused", "[model][codegen]") {
  const auto code_of = [](const char* key, const Json& value) {
    Json config = testing::codegen_config();
    config[key] = value;
    CAPTURE(key, value.dump());
    return test::error_of([&] { (void)describe_model(config, "config.json"); });
  };
  CHECK(code_of("activation_function", "mish") == ErrorCode::unsupported);
  CHECK(code_of("n_embd", 66) == ErrorCode::malformed);
  CHECK(code_of("n_head", 0) == ErrorCode::malformed);
  CHECK(code_of("mp_num", 0) == ErrorCode::malformed);
  CHECK(code_of("mp_num", 3) == ErrorCode::malformed);
  for (const Json& wrong : {Json(0), Json(7), Json(18), Json(-8), Json("8"), Json(nullptr)}) {
    CHECK(code_of("rotary_dim", wrong) == ErrorCode::malformed);
  }
  CHECK(code_of("n_layer", 0) == ErrorCode::malformed);
  CHECK(code_of("n_inner", -1) == ErrorCode::malformed);
  CHECK(code_of("vocab_size", "70") == ErrorCode::malformed);
}
