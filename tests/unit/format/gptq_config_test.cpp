// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gptq_config.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

std::optional<ErrorCode> checked(const char* settings, const char* method) {
  return test::error_of([&] { check_gptq_config(parse_json(settings, "x"), method, "x"); });
}

/// What is added to the zero points.
float offset_of(const char* config) {
  TensorFiles tensors;
  const InputFile& file = tensors.keep(std::make_shared<const InputFile>(std::span<const std::byte>()));
  for (const char* name : {"a.qzeros", "a.scales"}) tensors.add({name, DType::i32, {0}, {}}, file, "x");
  complete_gptq_zero_points(parse_json(config, "x"), tensors, "x");
  CHECK(tensors.find("a.scales")->offset == 0);
  return tensors.find("a.qzeros")->offset;
}

}  // namespace

TEST_CASE("GPTQ and AWQ are read in 4 bits, GPTQ in 8, in the layouts that are no kernel's own",
          "[format][gptq_config]") {
  CHECK(checked("{}", "gptq") == std::nullopt);
  CHECK(checked(R"({"bits": 8, "checkpoint_format": "gptq_v2"})", "gptq") == std::nullopt);
  CHECK(checked(R"({"bits": 4, "version": "GEMM"})", "awq") == std::nullopt);
  CHECK(checked(R"({"w_bit": 4, "q_group_size": 128})", "awq") == std::nullopt);
  CHECK(checked(R"({"bits": 3})", "gptq") == ErrorCode::unsupported);
  CHECK(checked(R"({"bits": 8})", "awq") == ErrorCode::unsupported);
  CHECK(checked(R"({"checkpoint_format": "marlin"})", "gptq") == ErrorCode::unsupported);
  CHECK(checked(R"({"version": "gemv"})", "awq") == ErrorCode::unsupported);
  CHECK(checked(R"({"bits": "4"})", "gptq") == ErrorCode::malformed);
}

TEST_CASE("zero points of GPTQ's first version are 1 more than their files hold", "[format][gptq_config]") {
  CHECK(offset_of(R"({"quantization_config": {"quant_method": "gptq"}})") == 1);
  CHECK(offset_of(R"({"quantization_config": {"quant_method": "gptq", "checkpoint_format": "gptq"}})") == 1);
  CHECK(offset_of("{}") == 1);  // as AutoGPTQ writes it, with a file of settings of its own
  CHECK(offset_of(R"({"quantization_config": {"quant_method": "gptq", "checkpoint_format": "gptq_v2"}})") == 0);
  CHECK(offset_of(R"({"quantization_config": {"quant_method": "awq"}})") == 0);
}
