// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/safetensors_writer.hpp>

#include <catch2/catch_all.hpp>
#include <unit/format/file_builder.hpp>

#include <tulle/core/mapped_file.hpp>
#include <tulle/format/safetensors.hpp>

using namespace tulle;

namespace {

/// `bytes` in two pieces.
OutputTensor tensor(const std::string& name, DType dtype, std::vector<std::size_t> shape, const std::string& bytes) {
  return {name, dtype, std::move(shape), [bytes](const TensorSink& sink) {
            const test::Bytes all = test::to_bytes(bytes);
            sink(std::span(all).first(all.size() / 2));
            sink(std::span(all).subspan(all.size() / 2));
          }};
}

}  // namespace

TEST_CASE("written tensors are read again, the largest elements first", "[format][safetensors]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("m.safetensors");
  std::vector<double> fractions;
  write_safetensors(
      path,
      {tensor("b", DType::i8, {3}, "abc"), tensor("z", DType::f32, {1, 1}, "0123"), tensor("a", DType::i8, {0, 7}, ""),
       tensor("s", DType::i64, {}, "8 bytes."), tensor("h", DType::f16, {2}, "wxyz")},
      [&](std::string_view, double fraction) { fractions.push_back(fraction); });
  const MappedFile file(path);
  const auto tensors = parse_safetensors(file.bytes(), path);
  std::string names, bytes;
  for (const EncodedTensor& each : tensors) {
    names += each.name;
    bytes.append(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
    CHECK(each.file_offset % dtype_info(each.dtype).block_bytes == 0);
  }
  CHECK(names == "szhab");
  CHECK(bytes == "8 bytes.0123wxyzabc");
  CHECK(tensors[1].shape == std::vector<std::size_t>{1, 1});
  CHECK(tensors[3].shape == std::vector<std::size_t>{0, 7});
  CHECK((std::is_sorted(fractions.begin(), fractions.end()) && fractions.back() == 1));
}

TEST_CASE("what cannot be written leaves no file", "[format][safetensors]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("m.safetensors");
  CHECK(test::error_of([&] {
          write_safetensors(path, {tensor("a", DType::i8, {1}, "x"), tensor("a", DType::i8, {1}, "y")});
        }) == ErrorCode::malformed);
  CHECK(test::error_of([&] { write_safetensors(path, {tensor("a", DType::i8, {3}, "ab")}); }) == ErrorCode::state);
  const OutputTensor failing{"a", DType::i8, {3}, [](const TensorSink&) { fail(ErrorCode::io, "no more"); }};
  CHECK(test::message_of([&] { write_safetensors(path, {failing}); }) == "no more");
  CHECK(std::filesystem::is_empty(folder.path()));
}
