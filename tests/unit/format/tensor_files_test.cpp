// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/tensor_files.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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

TEST_CASE("a tensor takes the place of another file's, not of its own file's", "[format][tensor_files]") {
  const std::vector<std::byte> bytes(16);
  TensorFiles tensors;
  const InputFile& a = tensors.keep(std::make_shared<const InputFile>(std::span<const std::byte>(bytes)));
  const InputFile& b = tensors.keep(std::make_shared<const InputFile>(std::span<const std::byte>(bytes)));
  tensors.replace({"x", DType::f32, {4}, {}}, a, "m");
  tensors.replace({"x", DType::f32, {2}, {}}, b, "m");
  CHECK(tensors.file_of("x") == &b);
  CHECK(tensors.size_bytes() == 8);
  CHECK(test::error_of([&] { tensors.replace({"x", DType::f32, {2}, {}}, b, "m"); }) == ErrorCode::malformed);
}

TEST_CASE("tensors are equal in type, shape and every byte", "[format][tensor_files]") {
  constexpr std::size_t size = (std::size_t{1} << 20) + 4;  // beyond what is compared at once
  std::vector<std::byte> bytes(3 * size);
  bytes.back() = std::byte{1};
  std::size_t read = 0;
  TensorFiles tensors;
  const InputFile& file =
      tensors.keep(std::make_shared<const InputFile>(bytes.size(), [&](std::uint64_t at, std::span<std::byte> out) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
        read += out.size();
      }));
  const auto add = [&](const char* name, DType dtype, std::vector<std::size_t> shape, std::size_t place) {
    EncodedTensor tensor{name, dtype, std::move(shape), {}};
    tensor.file_offset = place * size;
    tensors.add(std::move(tensor), file, "m");
  };
  add("a", DType::i8, {1, size}, 0);
  add("same", DType::i8, {1, size}, 1);
  add("last_byte", DType::i8, {1, size}, 2);
  add("turned", DType::i8, {size, 1}, 1);
  add("other_type", DType::f8_e4m3, {1, size}, 1);
  CHECK(tensors.are_equal("a", "same"));
  CHECK(read == 2 * size);
  CHECK_FALSE(tensors.are_equal("a", "last_byte"));
  for (const char* other : {"turned", "other_type", "none"}) CHECK_FALSE(tensors.are_equal("a", other));
}
