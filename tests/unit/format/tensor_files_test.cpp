// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/tensor_files.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("tensors of several files are found by name, with their file", "[format][tensor_files]") {
  const std::vector<std::byte> first(16), second(8);
  TensorFiles tensors;
  const InputFile& a = tensors.keep(std::make_shared<const InputFile>(std::span<const std::byte>(first)));
  const InputFile& b = tensors.keep(std::make_shared<const InputFile>(std::span<const std::byte>(second)));
  tensors.add({"x.weight", DType::f32, {2, 2}, {}}, a, "m");
  EncodedTensor tensor{"y", DType::f16, {2}, {}};
  tensor.file_offset = 4;
  tensors.add(tensor, b, "m");
  CHECK(tensors.names() == std::vector<std::string>{"x.weight", "y"});
  CHECK(tensors.size_bytes() == 20);
  CHECK(tensors.file_of("x.weight") == &a);
  CHECK(tensors.file_of("y") == &b);
  CHECK(tensors.file_of("z") == nullptr);
  CHECK(tensors.find("z") == nullptr);
  CHECK(tensors.read(*tensors.find("y")).data() == second.data() + 4);
  CHECK(tensors.matrix("x")->rows() == 2);
  CHECK(tensors.matrix("y") == nullptr);
  CHECK(test::error_of([&] { tensors.add({"y", DType::f16, {1}, {}}, a, "m"); }) == ErrorCode::malformed);
}
