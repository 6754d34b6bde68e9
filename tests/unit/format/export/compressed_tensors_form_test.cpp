// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/compressed_tensors_form.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <string>
#include <tulle/format/export/bitmask_form.hpp>
#include <vector>

#include "unit/format/export/made_model.hpp"

using namespace tulle;
using namespace tulle::testing;

namespace {

/// The type and shape of a tensor, or "none".
std::string tensor_of(const ExportedForm& form, const std::string& name) {
  const auto found = std::find_if(form.tensors.begin(), form.tensors.end(),
                                  [&](const OutputTensor& tensor) { return tensor.name == name; });
  if (found == form.tensors.end()) return "none";
  std::string text(dtype_name(found->dtype));
  for (const std::size_t extent : found->shape) text += " " + std::to_string(extent);
  return text;
}

}  // namespace

TEST_CASE("int8 rows become int-quantized with activations per token", "[format][export]") {
  MadeModel model;
  model.put("model.layers.0.up", 8, 64, int8_rows);
  model.tensors.put_random("model.layers.0.down.weight", DType::bf16, 4, 8, 1);
  model.tensors.put_random("model.embed_tokens.weight", DType::f16, 9, 64, 2);
  const ExportedForm form = compressed_tensors_form(model, {{"model_type", "llama"}});
  CHECK(tensor_of(form, "model.layers.0.up.weight") == "I8 8 64");
  CHECK(tensor_of(form, "model.layers.0.up.weight_scale") == "F32 8 1");
  CHECK(tensor_of(form, "model.layers.0.down.weight") == "BF16 4 8");
  CHECK(tensor_of(form, "model.embed_tokens.weight") == "F16 9 64");
  CHECK(form.notes.lines().empty());
  const Json& settings = form.config.at("quantization_config");
  CHECK(settings.at("format") == "int-quantized");
  CHECK(settings.at("ignore") == Json({"lm_head", "model.embed_tokens", "model.layers.0.down"}));
  const Json& group = settings.at("config_groups").at("group_0");
  CHECK(group.at("targets") == Json({"Linear"}));
  CHECK((group.at("weights").at("strategy") == "channel" && group.at("weights").at("num_bits") == 8));
  CHECK(
      (group.at("input_activations").at("strategy") == "token" && group.at("input_activations").at("dynamic") == true));
  CHECK_FALSE(group.contains("format"));  // versions before 0.11 refuse it
  check_quantization_config(form.config, "config.json");

  // Others find one scale per token; Tulle uses a scale per group, unless the model itself asked for one per token.
  CHECK_FALSE(quantizes_activations_per_token(form.config));
  CHECK(compressed_tensors_form(model, form.config).config == form.config);
  Json per_token = form.config;
  per_token.erase(activation_scales_key);
  CHECK(quantizes_activations_per_token(per_token));
  CHECK(compressed_tensors_form(model, per_token).config == per_token);

  // Of a model whose activations are floats they stay so.
  Json weights_only = form.config;
  weights_only["quantization_config"]["config_groups"]["group_0"]["input_activations"] = nullptr;
  CHECK(tensor_of(compressed_tensors_form(model, weights_only), "model.layers.0.up.weight_packed") == "I32 8 16");
}

TEST_CASE("codes in groups become pack-quantized of 4 or 8 bits", "[format][export]") {
  MadeModel model;
  model.put("a", 8, 64, int4_groups);
  const ExportedForm of_4 = compressed_tensors_form(model, Json::object());
  CHECK(tensor_of(of_4, "a.weight_packed") == "I32 8 8");
  CHECK(tensor_of(of_4, "a.weight_shape") == "I64 2");
  CHECK(tensor_of(of_4, "a.weight_scale") == "F32 8 2");
  const Json& group = of_4.config.at("quantization_config").at("config_groups").at("group_0");
  CHECK((group.at("input_activations").is_null() && group.at("weights").at("group_size") == 32));
  CHECK(of_4.config.at("quantization_config").at("format") == "pack-quantized");
  model.put("a", 8, 64, {.bits = 6, .group = 16});
  CHECK(tensor_of(compressed_tensors_form(model, Json::object()), "a.weight_packed") == "I32 8 16");
}

TEST_CASE("a model of several kinds names the layers of each", "[format][export]") {
  MadeModel model;
  model.put("a", 8, 64, int4_groups);
  model.put("b", 8, 64, int8_rows);
  model.put("c", 8, 64, int8_rows);
  model.put("d", 8, 64, {.bits = 8, .group = 32, .half_scales = true});
  model.tensors.put_random("e.weight", DType::f32, 4, 8, 1);
  const ExportedForm form = compressed_tensors_form(model, Json::object());
  const Json& settings = form.config.at("quantization_config");
  CHECK(settings.at("format") == "mixed-precision");
  CHECK(settings.at("ignore") == Json({"lm_head", "e"}));
  std::vector<std::string> groups;
  for (const Json& group : settings.at("config_groups")) {
    std::string text = group.at("format").get<std::string>() + " " + group.at("weights").at("num_bits").dump();
    for (const Json& target : group.at("targets")) text += " " + target.get<std::string>();
    groups.push_back(text);
  }
  std::sort(groups.begin(), groups.end());
  CHECK(groups == std::vector<std::string>{"int-quantized 8 b c", "pack-quantized 4 a", "pack-quantized 8 d"});
  check_quantization_config(form.config, "config.json");
}

TEST_CASE("minimums that are whole zero points are kept", "[format][export]") {
  constexpr CodeFormat of_4{.bits = 4, .group = 32, .has_minimums = true, .half_scales = true};
  for (const std::size_t rows : {std::size_t{8}, std::size_t{19}}) {
    CAPTURE(rows);
    MadeModel model;
    model.put("a", std::make_shared<const MadeMatrix>(rows, 64, of_4, 0, 3, true));
    const ExportedForm form = compressed_tensors_form(model, Json::object());
    REQUIRE(form.notes.lines().size() == 1);
    CHECK(form.notes.lines()[0].find("dequantize=True") != std::string::npos);
    CHECK(tensor_of(form, "a.weight_zero_point") == (rows == 8 ? "I32 1 2" : "I32 3 2"));
    const Json& weights = form.config.at("quantization_config").at("config_groups").at("group_0").at("weights");
    CHECK((weights.at("symmetric") == false && weights.at("num_bits") == 4));
    check_quantization_config(form.config, "config.json");
    const MemorySource copy = testing::written(form.tensors);
    CHECK(same_matrix(*open_matrix(copy, "a"), *model.matrix("a")));
    const MemorySource bitmask = testing::written(bitmask_form(model, Json::object()).tensors);
    CHECK(same_matrix(*open_matrix(bitmask, "a"), *model.matrix("a")));
  }
  MadeModel of_8;
  of_8.put("a", std::make_shared<const MadeMatrix>(8, 64, CodeFormat{.bits = 8, .group = 32, .has_minimums = true}, 0,
                                                   3, true));
  const MemorySource copy = testing::written(compressed_tensors_form(of_8, Json::object()).tensors);
  const auto wanted = values_of(*of_8.matrix("a")), found = values_of(*open_matrix(copy, "a"));
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(found[i] == Catch::Approx(wanted[i]).margin(1e-6));
}

TEST_CASE("what has no place becomes 16-bit floats, and that is said", "[format][export]") {
  MadeModel model;
  model.put("lm_head", 8, 64, int8_rows);
  model.put("minimums", 8, 64, {.bits = 4, .group = 32, .has_minimums = true, .half_scales = true});
  model.put("part_group", 8, 40, int4_groups);
  const ExportedForm form =
      compressed_tensors_form(model, {{"quantization_config", {{"quant_method", "tulle-bitmask"}}}});
  for (const char* name : {"lm_head", "minimums"}) CHECK(tensor_of(form, std::string(name) + ".weight") == "F16 8 64");
  CHECK(tensor_of(form, "part_group.weight") == "F16 8 40");
  REQUIRE(form.notes.lines().size() == 3);
  CHECK(form.notes.lines()[0] == "lm_head: codes of 8 bits became F16: embeddings and heads stay floats in this form");
  CHECK(form.notes.lines()[1].find("minimums") != std::string::npos);
  CHECK(form.notes.lines()[2].find("groups") != std::string::npos);
  CHECK_FALSE(form.config.contains("quantization_config"));
  CHECK(tensor_of(compressed_tensors_form(model, {{"dtype", "bfloat16"}}), "lm_head.weight") == "BF16 8 64");
}
