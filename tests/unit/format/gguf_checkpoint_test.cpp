// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_checkpoint.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>

#include "unit/format/file_builder.hpp"
#include "unit/format/lent_files.hpp"

using namespace tulle;

TEST_CASE("the opener finds the only GGUF model, but no config", "[format][gguf_checkpoint]") {
  const test::TemporaryFolder folder;
  folder.write("config.json", "{}");
  CHECK(gguf_opener.find(DirectoryFiles(folder.path())).empty());
  CHECK(gguf_opener.find(test::lent_files(folder.path())).empty());
  folder.write("a.gguf", "GGUF");
  CHECK(gguf_opener.find(DirectoryFiles(folder.path())) == "a.gguf");
}

TEST_CASE("tensors come under Hugging Face's names and in its order", "[format][gguf_checkpoint]") {
  CheckpointParts parts;
  const DirectoryFiles files(TULLE_GOLDEN "/models/gguf");
  gguf_opener.open(files, "f32.gguf", parts);
  const std::string query = "model.layers.0.self_attn.q_proj";
  const EncodedTensor& tensor = *parts.tensors.find(query + ".weight");
  CHECK(tensor.order == RowOrder::halves_of_pairs(4, 16));
  std::vector<float> row(64);
  parts.tensors.matrix(query)->decode_row(9, row.data());  // pair 1 of head 0, its second element
  CHECK(row[5] == load_unaligned<float>(tensor.bytes.data() + (3 * 64 + 5) * sizeof(float)));
  CHECK(parts.tensors.find("model.layers.0.self_attn.v_proj.weight")->order.as_it_lies());
}
