// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/bitmask_form.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/export/made_model.hpp"

using namespace tulle;
using namespace tulle::testing;

namespace {

/// What the form writes, in memory.
MemorySource written(const MadeModel& model) {
  return testing::written(bitmask_form(model, Json::object()).tensors);
}

MadeModel model_of_int8() {
  MadeModel model;
  model.put("a", 8, 64, int8_rows);
  return model;
}

/// Floats of which every `step`-th is kept.
void put_sparse_floats(MadeModel& model, const std::string& layer, DType dtype, std::size_t step) {
  model.tensors.put_random(layer + ".weight", dtype, 19, 40, 7);
  const EncodedTensor& tensor = *model.tensors.find(layer + ".weight");
  std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
  const std::size_t size = dtype_info(dtype).block_bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i / size % step != 0) bytes[i] = std::byte{0};
  }
  model.tensors.put(layer + ".weight", dtype, {19, 40}, std::move(bytes));
}

}  // namespace

TEST_CASE("sparse and dense matrices are read again to the same codes and scales", "[format][export]") {
  MadeModel model;
  model.put("sparse8", 19, 64, int8_rows, 0.5);
  model.put("sparse4", 19, 64, int4_groups, 0.5);
  model.put("groups", 19, 40, int4_groups, 0.5);  // the last group has 8 columns
  model.put("odd", 5, 9, int8_rows, 0.5);
  model.put("dense8", 19, 64, int8_rows);
  model.put("dense4", 19, 64, int4_groups);
  model.put("dense_groups", 19, 40, int4_groups);
  model.put("zeros", 4, 8, int8_rows, 1);
  model.put("model.embed_tokens", 19, 64, int8_rows);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    put_sparse_floats(model, "floats." + std::string(dtype_name(dtype)), dtype, 3);
  }
  put_sparse_floats(model, "dense_floats", DType::f16, 1);
  model.tensors.put_floats("norm.weight", {3}, {1, 2, 3});
  const MemorySource copy = written(model);
  for (const MatrixPart& part : model_parts(model, Json::object()).matrices) {
    CAPTURE(part.name);
    CHECK(same_matrix(*open_matrix(copy, part.name), *model.matrix(part.name)));
    const bool has_mask = copy.find(part.name + ".weight_mask") != nullptr;
    const bool is_dense = part.name.starts_with("dense") || part.name.starts_with("model");
    CHECK(has_mask == (!is_dense || part.name == "dense_groups"));
  }
  CHECK(copy.floats("norm.weight") == std::vector<float>{1, 2, 3});
}

TEST_CASE("int4 weights of which 8 in 16 are kept take at most 0.46 bytes each", "[format][export]") {
  const std::size_t rows = 64, columns = 512;
  MadeModel model;
  model.tensors.put_random("a.weight", DType::q4_0, rows, columns, 3);
  std::vector<std::byte> blocks(model.tensors.find("a.weight")->bytes.begin(),
                                model.tensors.find("a.weight")->bytes.end());
  for (std::size_t at = 0; at < blocks.size(); ++at) {  // the code 8 is zero: every second column
    if (at % 18 >= 2) blocks[at] = (at % 2 == 0) ? std::byte{0x88} : blocks[at];
  }
  model.tensors.put("a.weight", DType::q4_0, {rows, columns}, std::move(blocks));
  const MemorySource copy = written(model);
  std::size_t bytes = 0;
  for (const std::string& name : copy.names()) bytes += copy.find(name)->size_bytes();
  CHECK(static_cast<double>(bytes) <= 0.46 * static_cast<double>(rows * columns));
  CHECK(same_matrix(*open_matrix(copy, "a"), *model.matrix("a")));
}

TEST_CASE("codes with minimums become floats, and that is said", "[format][export]") {
  MadeModel model;
  model.put("a", 8, 64, {.bits = 4, .group = 32, .has_minimums = true, .half_scales = true});
  const ExportedForm form = bitmask_form(model, Json::object());
  REQUIRE(form.notes.lines().size() == 1);
  CHECK(form.notes.lines()[0] == "a: codes of 4 bits became F16: this form has zero points of 4 bits, not minimums");
  CHECK(form.config.at("quantization_config") == Json{{"quant_method", "tulle-bitmask"}, {"version", 1}});
  Json per_token = compressed_tensors_form(model_of_int8(), Json::object()).config;
  CHECK_FALSE(quantizes_activations_per_token(bitmask_form(model, per_token).config));
  per_token.erase(activation_scales_key);
  CHECK(quantizes_activations_per_token(bitmask_form(model, per_token).config));
}
