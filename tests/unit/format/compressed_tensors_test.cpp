// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/compressed_tensors.hpp>

#include <catch2/catch_all.hpp>
#include <map>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

std::optional<ErrorCode> code_of(const Json& config) {
  return error_of([&] { check_quantization_config(config, "config.json"); });
}

Json w8a8() {
  return {
      {"quant_method", "compressed-tensors"},
      {"format", "int-quantized"},
      {"quantization_status", "compressed"},
      {"ignore", {"lm_head"}},
      {"kv_cache_scheme", nullptr},
      {"sparsity_config", Json::object()},
      {"transform_config", Json::object()},
      {"config_groups",
       {{"group_0",
         {{"targets", {"Linear"}},
          {"weights",
           {{"num_bits", 8}, {"type", "int"}, {"symmetric", true}, {"strategy", "channel"}, {"group_size", nullptr}}},
          {"input_activations", {{"num_bits", 8}, {"type", "int"}, {"strategy", "token"}, {"dynamic", true}}}}}}}};
}

/// `w8a8` with one value replaced; `pointer` as in RFC 6901.
std::optional<ErrorCode> with(const char* pointer, const Json& value) {
  Json settings = w8a8();
  settings[Json::json_pointer(pointer)] = value;
  return code_of({{"quantization_config", settings}});
}

class Tensors final : public TensorSource {
 public:
  void add(const std::string& name, DType dtype, std::vector<std::size_t> shape) {
    tensors_[name] = EncodedTensor{name, dtype, std::move(shape), {}};
  }
  const EncodedTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& entry : tensors_) all.push_back(entry.first);
    return all;
  }
  std::shared_ptr<const WeightSource> matrix(const std::string&) const override { return nullptr; }

 private:
  std::map<std::string, EncodedTensor, std::less<>> tensors_;
};

}  // namespace

TEST_CASE("no quantization, and symmetric int8 per channel or tensor, are read", "[format][compressed_tensors]") {
  CHECK(code_of(Json::object()) == std::nullopt);
  CHECK(code_of({{"quantization_config", nullptr}}) == std::nullopt);
  CHECK(code_of({{"quantization_config", Json::object()}}) == std::nullopt);
  CHECK(code_of({{"quantization_config", w8a8()}}) == std::nullopt);
  CHECK(code_of({{"compression_config", w8a8()}}) == std::nullopt);
  CHECK(code_of({{"compression_config", {{"quantization_config", w8a8()}}}}) == std::nullopt);
  CHECK(with("/format", "naive-quantized") == std::nullopt);
  CHECK(with("/config_groups/group_0/format", "int-quantized") == std::nullopt);
  CHECK(with("/config_groups/group_0/weights/strategy", "tensor") == std::nullopt);
  CHECK(with("/config_groups/group_0/weights/group_size", -1) == std::nullopt);
  CHECK(with("/config_groups/group_0/input_activations", nullptr) == std::nullopt);
  CHECK(with("/config_groups", Json{{"W8A8", {"Linear"}}}) == std::nullopt);
  CHECK(with("/sparsity_config", Json{{"format", "dense"}, {"global_sparsity", 0.5}}) == std::nullopt);
  CHECK(code_of({{"quantization_config", {{"quant_method", "tulle-bitmask"}}}}) == std::nullopt);
}

TEST_CASE("integer weights of 4 and 8 bits, in groups and with zero points, are read", "[format][compressed_tensors]") {
  CHECK(with("/format", "pack-quantized") == std::nullopt);
  CHECK(with("/format", "mixed-precision") == std::nullopt);
  CHECK(with("/config_groups/group_0/format", "pack-quantized") == std::nullopt);
  CHECK(with("/config_groups/group_0/weights/num_bits", 4) == std::nullopt);
  CHECK(with("/config_groups/group_0/weights/symmetric", false) == std::nullopt);
  CHECK(with("/config_groups/group_0/weights", Json{{"num_bits", 8}, {"group_size", 128}}) == std::nullopt);
  for (const char* preset : {"W4A16", "W8A16", "W4A16_ASYM"})
    CHECK(with("/config_groups", Json{{preset, {"Linear"}}}) == std::nullopt);
}

TEST_CASE("floats of 8 bits, GPTQ, AWQ, and the sparse forms are read", "[format][compressed_tensors]") {
  CHECK(with("/format", "float-quantized") == std::nullopt);
  CHECK(with("/config_groups/group_0/weights/type", "float") == std::nullopt);
  CHECK(with("/config_groups", Json{{"FP8_DYNAMIC", {"Linear"}}}) == std::nullopt);
  for (const char* method : {"gptq", "awq"}) CHECK(with("/quant_method", method) == std::nullopt);
  for (const char* format : {"sparse-bitmask", "sparse-24-bitmask"}) {
    CHECK(with("/sparsity_config", Json{{"format", format}}) == std::nullopt);
    CHECK(code_of({{"compression_config", {{"sparsity_config", {{"format", format}}}}}}) == std::nullopt);
  }
}

TEST_CASE("every other form is refused by name", "[format][compressed_tensors]") {
  for (const char* method : {"bitsandbytes", "fp8"}) CHECK(with("/quant_method", method) == ErrorCode::unsupported);
  for (const char* format : {"nvfp4-pack-quantized", "marlin-24", "fakequant"}) {
    CHECK(with("/format", format) == ErrorCode::unsupported);
    CHECK(with("/config_groups/group_0/format", format) == ErrorCode::unsupported);
  }
  CHECK(with("/transform_config", Json{{"config_groups", {{"u", 1}}}}) == ErrorCode::unsupported);
  CHECK(with("/config_groups/group_0/weights", Json{{"type", "float"}, {"num_bits", 4}}) == ErrorCode::unsupported);
  CHECK(with("/config_groups/group_0/weights/type", "complex") == ErrorCode::unsupported);
  CHECK(with("/config_groups/group_0/weights/num_bits", 3) == ErrorCode::unsupported);
  CHECK(with("/config_groups/group_0/weights/strategy", "group") == ErrorCode::unsupported);
  CHECK(with("/config_groups/group_0/weights/strategy", "block") == ErrorCode::unsupported);
  CHECK(with("/config_groups", Json{{"NVFP4", {"Linear"}}}) == ErrorCode::unsupported);
  CHECK(with("/sparsity_config", Json{{"format", "marlin-24"}}) == ErrorCode::unsupported);
  CHECK(code_of({{"compression_config", {{"sparsity_config", {{"format", "marlin-24"}}}}}}) == ErrorCode::unsupported);
  const std::string message = message_of(
      [&] { check_quantization_config({{"quantization_config", {{"quant_method", "fp8"}}}}, "m/config.json"); });
  CHECK(message.find("m/config.json") != std::string::npos);
  CHECK(message.find("\"fp8\"") != std::string::npos);
}

TEST_CASE("wrong JSON types are malformed", "[format][compressed_tensors]") {
  CHECK(code_of({{"quantization_config", 1}}) == ErrorCode::malformed);
  CHECK(with("/quant_method", 1) == ErrorCode::malformed);
  CHECK(with("/format", Json::array()) == ErrorCode::malformed);
  CHECK(with("/config_groups", Json::array({1})) == ErrorCode::malformed);
  CHECK(with("/config_groups/group_0", 1) == ErrorCode::malformed);
  CHECK(with("/config_groups/group_0/weights", "int8") == ErrorCode::malformed);
  CHECK(with("/config_groups/group_0/weights/num_bits", "8") == ErrorCode::malformed);
  CHECK(with("/sparsity_config", "none") == ErrorCode::malformed);
}

TEST_CASE("activations per token are what the strategy of a group says", "[format][compressed_tensors]") {
  Json settings = w8a8();
  CHECK(quantizes_activations_per_token({{"quantization_config", settings}}));
  CHECK_FALSE(quantizes_activations_per_token({{"quantization_config", settings}, {activation_scales_key, "group"}}));
  settings["config_groups"]["group_0"]["input_activations"]["type"] = "float";
  CHECK_FALSE(quantizes_activations_per_token({{"quantization_config", settings}}));
  settings["config_groups"]["group_0"]["input_activations"] = {{"type", "int"}, {"strategy", "tensor"}};
  CHECK_FALSE(quantizes_activations_per_token({{"quantization_config", settings}}));
  settings["config_groups"]["group_0"]["input_activations"] = nullptr;
  CHECK_FALSE(quantizes_activations_per_token({{"quantization_config", settings}}));
  CHECK_FALSE(quantizes_activations_per_token(Json::object()));
}

TEST_CASE("an I8 matrix needs a scale per row or one, or those of groups that the config names",
          "[format][compressed_tensors]") {
  Json config;
  const auto scaled = [&](DType dtype, std::vector<std::size_t> shape) {
    Tensors tensors;
    tensors.add("q.weight", DType::i8, {6, 4});
    tensors.add("q.weight_scale", dtype, std::move(shape));
    return error_of([&] { check_quantized_tensors(tensors, config, "m"); });
  };
  CHECK(scaled(DType::f32, {6, 1}) == std::nullopt);
  CHECK(scaled(DType::bf16, {6}) == std::nullopt);
  CHECK(scaled(DType::f16, {1}) == std::nullopt);
  CHECK(scaled(DType::f32, {}) == std::nullopt);
  CHECK(scaled(DType::f32, {4}) == ErrorCode::malformed);
  CHECK(scaled(DType::f32, {1, 6}) == ErrorCode::malformed);
  CHECK(scaled(DType::f32, {6, 0}) == ErrorCode::malformed);
  CHECK(scaled(DType::i8, {6, 1}) == ErrorCode::unsupported);
  CHECK(scaled(DType::f32, {6, 2}) == ErrorCode::unsupported);
  Json settings = w8a8();
  settings["config_groups"]["group_0"]["weights"] = {{"num_bits", 8}, {"strategy", "group"}, {"group_size", 2}};
  config = {{"quantization_config", settings}};
  CHECK(scaled(DType::f32, {6, 2}) == std::nullopt);
  CHECK(scaled(DType::f32, {6, 3}) == ErrorCode::unsupported);
  CHECK(scaled(DType::f32, {6, 4}) == ErrorCode::unsupported);

  Tensors floats;
  floats.add("q.weight", DType::f8_e4m3, {6, 4});
  CHECK(error_of([&] { check_quantized_tensors(floats, config, "m"); }) == ErrorCode::not_found);
  CHECK(error_of([&] { check_quantized_tensors(floats, Json(), "m"); }) == std::nullopt);
  Tensors alone;
  alone.add("q.weight", DType::i8, {6, 4});
  CHECK(error_of([&] { check_quantized_tensors(alone, config, "m"); }) == ErrorCode::not_found);
  Tensors others;
  others.add("mask", DType::i8, {6, 4});
  others.add("norm.weight", DType::f32, {6});
  CHECK(error_of([&] { check_quantized_tensors(others, config, "m"); }) == std::nullopt);
}
