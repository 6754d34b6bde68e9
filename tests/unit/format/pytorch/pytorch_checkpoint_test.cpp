// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/pytorch/pytorch_checkpoint.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <filesystem>
#include <map>
#include <string>

#include <tulle/format/checkpoint.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/format/lent_files.hpp"

using namespace tulle;
using namespace tulle::test;

namespace {

const std::string folder = TULLE_GOLDEN "/pytorch/";

}  // namespace

TEST_CASE("pytorch_model.bin holds what safetensors hold", "[format][pytorch][golden]") {
  const auto golden = Checkpoint::open(TULLE_GOLDEN "/models/starcoder2-tiny");
  const GivenFiles one = lent_files(folder + "one"), shards = lent_files(folder + "shards");
  int transposed = 0;
  for (const auto& checkpoint : {Checkpoint::open(folder + "one"), Checkpoint::open(folder + "shards"),
                                 Checkpoint::open(one), Checkpoint::open(shards)}) {
    CHECK(checkpoint->format_name() == "pytorch");
    CHECK(checkpoint->config() == golden->config());
    CHECK(checkpoint->names() == golden->names());
    CHECK(checkpoint->size_bytes() == golden->size_bytes());
    for (const std::string& name : golden->names()) {
      const EncodedTensor &found = *checkpoint->find(name), &needed = *golden->find(name);
      CAPTURE(checkpoint->path(), name);
      CHECK(found.dtype == needed.dtype);
      CHECK(found.shape == needed.shape);
      CHECK(read_floats(*checkpoint, found) == read_floats(*golden, needed));
      transposed += found.transposed ? 1 : 0;
      if (!found.transposed) {
        const TensorBytes bytes(*checkpoint, found);
        CHECK(std::ranges::equal(bytes.span(), needed.bytes));
      }
    }
    const std::string layer = "model.layers.0.self_attn.q_proj";
    const auto rows = checkpoint->matrix(layer), needed = golden->matrix(layer);
    REQUIRE(rows->rows() == needed->rows());
    CHECK(rows->code_format() == needed->code_format());
    std::vector<float> row(rows->columns()), needed_row(rows->columns());
    for (std::size_t i = 0; i < rows->rows(); ++i) {
      rows->decode_row(i, row.data());
      needed->decode_row(i, needed_row.data());
      CHECK(row == needed_row);
    }
  }
  CHECK(transposed == 2);  // in "one", opened twice
}

TEST_CASE("a pytorch_model.bin that cannot be read is refused with what to do", "[format][pytorch]") {
  const std::map<std::string, std::string> messages{{"reducer", "\"posix.system\""},
                                                    {"legacy", "torch wrote before 1.6"},
                                                    {"view", "tensor \"a\" is a view"},
                                                    {"repeated", "tensor \"a\" is a view"},
                                                    {"nested", "save the state dict itself"},
                                                    {"list", "the opcode 93"},
                                                    {"protocol_4", "protocol 2"},
                                                    {"deflated", "compressed"},
                                                    {"short_storage", "a storage of 44 bytes"},
                                                    {"big_endian", "byte order"},
                                                    {"no_pickle", "holds no data.pkl"},
                                                    {"cut", "no directory of a zip archive"}};
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "hostile")) {
    const TemporaryFolder directory;
    directory.write("config.json", "{}");
    std::filesystem::copy_file(entry.path(), directory.path("pytorch_model.bin"));
    const std::string message = message_of([&] { Checkpoint::open(directory.path()); });
    CAPTURE(message);
    CHECK(message.find(messages.at(entry.path().stem().string())) != std::string::npos);
    CHECK(message.find("pytorch_model.bin") != std::string::npos);
    ++files;
  }
  CHECK(files == messages.size());
}

TEST_CASE("pytorch_model.bin is read where there are no safetensors", "[format][pytorch]") {
  const TemporaryFolder directory;
  std::filesystem::copy_file(folder + "one/pytorch_model.bin", directory.path("pytorch_model.bin"));
  CHECK(error_of([&] { Checkpoint::open(directory.path()); }) == ErrorCode::not_found);  // no config
  directory.write("config.json", "{}");
  directory.write("a.gguf", "");
  CHECK(Checkpoint::open(directory.path())->format_name() == "pytorch");
  directory.write("model.safetensors", safetensors_file("{}", 0));
  CHECK(Checkpoint::open(directory.path())->format_name() == "safetensors");
}

TEST_CASE("what a pickle says of a tensor is checked against its storage", "[format][pytorch]") {
  const auto located = [](std::uint64_t bytes, std::uint64_t claimed, std::uint64_t offset,
                          std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> strides,
                          DType dtype = DType::f32) {
    const detail::PickledTensor tensor{"a", dtype, "0", dtype, claimed, offset, std::move(sizes), std::move(strides)};
    return detail::locate_pickled_tensor(tensor, {100, bytes}, "x.bin");
  };
  CHECK(located(48, 12, 2, {2, 3}, {3, 1}).file_offset == 108);
  CHECK(located(48, 12, 6, {2, 3}, {3, 1}).shape == std::vector<std::size_t>{2, 3});
  CHECK(located(48, 12, 0, {2, 3}, {1, 2}).transposed);
  CHECK_FALSE(located(48, 12, 0, {1, 3}, {99, 1}).transposed);  // the stride of one row means nothing
  CHECK(located(48, 12, 12, {0, 3}, {0, 0}).elements() == 0);
  const std::uint64_t large = std::uint64_t{1} << 62;
  CHECK(error_of([&] { located(48, 12, 7, {2, 3}, {3, 1}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { located(48, 12, large, {2, 3}, {3, 1}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { located(48, 12, 0, {large, large}, {large, 1}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { located(48, 13, 0, {2, 3}, {3, 1}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { located(47, 11, 0, {2, 3}, {3, 1}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { located(48, 12, 0, {2, 3}, {4, 1}); }) == ErrorCode::unsupported);
  CHECK(error_of([&] { located(48, 12, 0, {2, 3}, {0, 0}); }) == ErrorCode::unsupported);
  CHECK(error_of([&] { located(96, 12, 0, {2, 3}, {1, 2}, DType::i64); }) == ErrorCode::unsupported);
}
