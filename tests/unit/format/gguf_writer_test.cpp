// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_writer.hpp>

#include <catch2/catch_all.hpp>
#include <unit/format/file_builder.hpp>

#include <tulle/core/mapped_file.hpp>
#include <tulle/format/gguf.hpp>

using namespace tulle;

namespace {

OutputTensor tensor(const std::string& name, DType dtype, std::vector<std::size_t> shape, std::size_t bytes) {
  return {name, dtype, std::move(shape), [bytes](const TensorSink& sink) {
            const test::Bytes all(bytes, std::byte{7});
            sink(all);
          }};
}

}  // namespace

TEST_CASE("metadata and tensors of a written file are read again", "[format][gguf]") {
  GgufMetadata metadata;
  metadata.string("general.architecture", "llama");
  metadata.u32("a.number", 70000);
  metadata.f32("a.float", 0.25f);
  metadata.boolean("a.flag", true);
  metadata.strings("a.strings", {"", "two words", "\n"});
  metadata.floats("a.floats", {1, -0.5f});
  metadata.integers("a.integers", {-1, 6});
  const test::TemporaryFolder folder;
  const std::string path = folder.path("m.gguf");
  write_gguf(path, metadata, {tensor("b", DType::q8_0, {3, 32}, 102), tensor("a", DType::f32, {5}, 20)});
  const MappedFile mapped(path);
  const GgufFile file = parse_gguf(mapped.bytes(), path);
  CHECK(file.version == 3);
  CHECK(file.metadata.at("a.number") == 70000);
  CHECK(file.metadata.at("a.float") == 0.25);
  CHECK(file.metadata.at("a.flag") == true);
  CHECK(file.strings("a.strings") == std::vector<std::string>{"", "two words", "\n"});
  CHECK(file.floats("a.floats") == std::vector<float>{1, -0.5f});
  CHECK(file.integers("a.integers") == std::vector<std::int64_t>{-1, 6});
  REQUIRE(file.tensors.size() == 2);
  CHECK((file.tensors[0].name == "b" && file.tensors[0].shape == std::vector<std::size_t>{3, 32}));
  CHECK((file.tensors[0].dtype == DType::q8_0 && file.tensors[1].dtype == DType::f32));
  CHECK(test::sum_of(file.tensors) == 7 * 122);
  CHECK(mapped.bytes().size() % 32 == 0);  // also behind the last tensor
}

TEST_CASE("what a GGUF file cannot hold is refused by name", "[format][gguf]") {
  const test::TemporaryFolder folder;
  const auto message = [&](const OutputTensor& each) {
    return test::message_of([&] { write_gguf(folder.path("m.gguf"), {}, {each}); });
  };
  CHECK(message(tensor("bool", DType::boolean, {1}, 1)).find("\"bool\"") != std::string::npos);
  CHECK(message(tensor(std::string(64, 'x'), DType::f32, {1}, 4)).find("xxx") != std::string::npos);
  CHECK(message(tensor("part", DType::q4_0, {1, 33}, 18)).find("part") != std::string::npos);
  CHECK(std::filesystem::is_empty(folder.path()));
}
