// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_checkpoint.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <vector>

#include <tulle/format/checkpoint.hpp>

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

TEST_CASE("experts of a file become matrices of their own, which the file's bytes serve", "[format][gguf_checkpoint]") {
  CheckpointParts parts;
  gguf_opener.open(DirectoryFiles(TULLE_GOLDEN "/models/gguf"), "mixtral.gguf", parts);
  CheckpointParts lent;
  gguf_opener.open(test::lent_files(TULLE_GOLDEN "/models/gguf"), "mixtral.gguf", lent);
  const std::string down = "model.layers.1.block_sparse_moe.experts.3.w2";
  const auto here = parts.tensors.matrix(down), there = lent.tensors.matrix(down);
  CHECK((here->rows() == 32 && here->columns() == 40));
  std::vector<float> row(40), other(40);
  here->decode_row(31, row.data());
  there->decode_row(31, other.data());
  CHECK(row == other);
  CHECK(parts.tensors.find("model.layers.1.block_sparse_moe.experts.4.w2.weight") == nullptr);
  CHECK(parts.tensors.find("blk.1.ffn_down_exps.weight") == nullptr);
}

TEST_CASE("files of all kinds of rows open or are refused, however they are changed",
          "[format][gguf_checkpoint][mutations]") {
  for (const std::string name : {"llama", "falcon", "gemma3", "gpt-oss", "mpt", "phi3"}) {
    CAPTURE(name);
    const std::string prefix = name + ".";
    test::GgufBuilder gguf;
    gguf.text("general.architecture", name).u32(prefix + "block_count", 1).u32(prefix + "embedding_length", 4);
    gguf.u32(prefix + "context_length", 4).u32(prefix + "feed_forward_length", 4);
    gguf.u32(prefix + "attention.head_count", 2).f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
    gguf.f32(prefix + "attention.layer_norm_epsilon", 1e-5f).u32(prefix + "attention.head_count_kv", 1);
    gguf.u32(prefix + "expert_used_count", 1).u32(prefix + "attention.sliding_window", 2);
    gguf.array<std::uint8_t>(prefix + "attention.sliding_window_pattern", 7, {1});
    if (name == "llama" || name == "gpt-oss") {
      gguf.u32(prefix + "expert_count", 2).tensor("blk.0.ffn_gate_inp.weight", {4, 2}, 0, test::float_bytes(8));
      gguf.tensor("blk.0.ffn_up_exps.weight", {4, 2, 2}, 0, test::float_bytes(16));
      gguf.tensor("blk.0.ffn_up_exps.bias", {2, 2}, 0, test::float_bytes(4));
    }
    gguf.tensor("blk.0.attn_qkv.weight", {4, 8}, 0, test::float_bytes(32));
    gguf.tensor("blk.0.attn_norm.weight", {4}, 0, test::float_bytes(4));
    if (name == "phi3") {
      gguf.tensor("rope_factors_long.weight", {1}, 0, test::float_bytes(1));
      gguf.tensor("rope_factors_short.weight", {1}, 0, test::float_bytes(1));
    }
    const test::Bytes file = gguf.build(false);
    CHECK(Checkpoint::from_gguf_bytes(file, "f")->names().size() >= 2);
    const std::size_t refused = test::survive_mutations(file, 1000, [](const test::Bytes& bytes) {
      const auto opened = Checkpoint::from_gguf_bytes(bytes, "f");
      for (const std::string& each : opened->names()) {
        const EncodedTensor& tensor = *opened->find(each);
        test::sum_of({tensor});
        if (is_float_dtype(tensor.dtype)) (void)read_floats(*opened, tensor);
      }
    });
    CHECK(refused > file.size());
  }
}
