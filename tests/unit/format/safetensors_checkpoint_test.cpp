// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/safetensors_checkpoint.hpp>

#include <catch2/catch_all.hpp>
#include <string>

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
