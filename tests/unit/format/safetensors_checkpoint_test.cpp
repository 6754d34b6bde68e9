// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/safetensors_checkpoint.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include <tulle/core/mapped_file.hpp>
#include <tulle/format/checkpoint.hpp>

#include "unit/format/encoding/quantized_golden.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("each opener finds the file that its kind of directory begins with", "[format][safetensors_checkpoint]") {
  const test::TemporaryFolder folder;
  const DirectoryFiles files(folder.path());
  folder.write("model.safetensors", "");
  CHECK(safetensors_opener.find(files).empty());  // no config
  folder.write("config.json", "{}");
  CHECK(safetensors_opener.find(files) == "model.safetensors");
  CHECK(shards_opener.find(files).empty());
  folder.write("model.safetensors.index.json", "{}");
  CHECK(shards_opener.find(files) == "model.safetensors.index.json");
}

TEST_CASE("a directory with one safetensors file is opened", "[format][safetensors_checkpoint]") {
  const DirectoryFiles files(TULLE_GOLDEN "/models/qwen2-tiny");
  CheckpointParts parts;
  safetensors_opener.open(files, safetensors_opener.find(files), parts);
  CHECK(parts.config["model_type"] == "qwen2");
  CHECK(parts.generation_config["eos_token_id"] == 2);
  CHECK(parts.tensors.matrix("model.layers.0.self_attn.q_proj")->rows() == 64);
}

TEST_CASE("settings of GPTQ may lie beside the config", "[format][safetensors_checkpoint]") {
  const auto opened = [](const std::string& kind, const std::string& settings) {
    const test::TemporaryFolder folder;
    folder.write("model.safetensors", MappedFile(TULLE_GOLDEN "/" + kind + "/model.safetensors").text());
    folder.write("config.json", "{}");
    folder.write("quantize_config.json", settings);
    return Checkpoint::open(folder.path());
  };
  const auto check = [](const Checkpoint& checkpoint) {
    int layers = 0;
    for (const std::string& tensor : checkpoint.names()) {
      if (!tensor.ends_with(".expected")) continue;
      const auto matrix = checkpoint.matrix(tensor.substr(0, tensor.rfind('.')));
      CHECK(testing::values_of(*matrix) == read_floats(checkpoint, *checkpoint.find(tensor)));
      ++layers;
    }
    CHECK(layers > 1);
  };
  check(*opened("quantized/gptq_v2", R"({"bits": 4, "checkpoint_format": "gptq_v2"})"));
  check(*opened("quantized/awq", R"({"bits": 4})"));  // whose zero points no version takes 1 from
  CHECK(test::error_of([&] { opened("quantized/gptq", R"({"bits": 3})"); }) == ErrorCode::unsupported);
  CHECK_NOTHROW(opened("models/qwen2-tiny", R"({"bits": 3})"));  // which has no such codes
}
