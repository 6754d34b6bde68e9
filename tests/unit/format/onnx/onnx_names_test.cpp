// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/onnx/onnx_names.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::detail;

TEST_CASE("initializers are parameters by the names that exporters keep", "[format][onnx]") {
  CHECK(parameter_name("model.norm.weight") == "model.norm.weight");
  CHECK(parameter_name("h.0.fc.bias") == "h.0.fc.bias");
  CHECK(parameter_name("h.0.fc.module.weight") == "h.0.fc.weight");
  CHECK(parameter_name("h.0.fc.weight_quantized") == "h.0.fc.weight");
  CHECK(parameter_name("wte.module.weight_quant") == "wte.weight");
  for (const char* name : {"onnx::MatMul_12", "onnx::MatMul_12_quantized", "/h.0/fc/MatMul.weight_quantized", "val_12",
                           "MatMul_12.weight_quantized", "Gemm_1.weight_quantized", "h.0.fc.weight_scale", ""}) {
    CHECK(parameter_name(name).empty());
  }
}

TEST_CASE("nodes name the module whose code made them", "[format][onnx]") {
  CHECK(module_of_name("/model/layers.0/self_attn/q_proj/MatMul") == "model.layers.0.self_attn.q_proj");
  CHECK(module_of_name("/model/layers.0/self_attn/q_proj/module/MatMul_quant") == "model.layers.0.self_attn.q_proj");
  CHECK(module_of_name("/lm_head/MatMul") == "lm_head");
  for (const char* name : {"", "MatMul_12", "/", "/MatMul", "node_linear", "lm_head/MatMul"}) {
    CHECK(module_of_name(name).empty());
  }
  CHECK(module_of_scopes("['', 'model', 'model.layers.0', 'model.layers.0.mlp', 'linear_3']") == "model.layers.0.mlp");
  for (const char* scopes : {"", "['']", "['', 'linear']", "model.layers.0"}) CHECK(module_of_scopes(scopes).empty());
}
