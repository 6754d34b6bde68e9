// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/matrix_tensors.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <string>
#include <vector>

#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::testing;

namespace {

/// Puts what a tensor writes into `source`.
void take(MemorySource& source, const OutputTensor& tensor) {
  std::vector<std::byte> bytes;
  tensor.write([&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  CHECK(bytes.size() == tensor.size_bytes());
  source.put(tensor.name, tensor.dtype, tensor.shape, std::move(bytes));
}

}  // namespace

TEST_CASE("codes of any width are written and read again", "[format][export]") {
  for (const std::size_t columns : {std::size_t{64}, std::size_t{35}, std::size_t{9}}) {
    for (const std::size_t bits : {std::size_t{4}, std::size_t{8}}) {
      MadeModel model;
      model.put("a", 19, columns, {.bits = bits});
      const MatrixPart part = model_parts(model, Json::object()).matrices.at(0);
      MemorySource packed, plain;
      for (MemorySource* source : {&packed, &plain}) take(*source, scale_tensor(model, part, DType::f32));
      take(packed, packed_tensor(model, part, bits));
      take(packed, shape_tensor(part, {19, static_cast<std::int64_t>(columns)}));
      CHECK(same_matrix(*open_matrix(packed, "a"), *model.matrix("a")));
      take(plain, code_tensor(model, part));
      CHECK(values_of(*open_matrix(plain, "a")) == values_of(*model.matrix("a")));
    }
  }
}

TEST_CASE("floats are rounded to the wanted type", "[format][export]") {
  MadeModel model;
  model.tensors.put_floats("a.weight", {1, 3}, {1.00390625f, -0.0f, 70000});
  const MatrixPart part = model_parts(model, Json::object()).matrices.at(0);
  const auto written = [&](DType dtype) {
    MemorySource source;
    take(source, float_tensor(model, part, dtype));
    return values_of(*open_matrix(source, "a"));
  };
  CHECK(written(DType::f32) == std::vector<float>{1.00390625f, 0, 70000});
  CHECK(written(DType::bf16) == std::vector<float>{1, 0, 70144});
  CHECK(test::message_of([&] { (void)written(DType::f16); }).find("\"a\" holds 70000") != std::string::npos);
  model.tensors.put_floats("a.weight", {1, 3}, {1.00390625f, -2, std::numeric_limits<float>::infinity()});
  CHECK(written(DType::f16) == std::vector<float>{1.00390625f, -2, std::numeric_limits<float>::infinity()});
}

TEST_CASE("other tensors are copied, in Hugging Face's order", "[format][export]") {
  MemorySource source, copy;
  source.put("buffer", DType::boolean, {1, 1, 2}, test::to_bytes(std::string_view("\1\0", 2)));
  source.put_floats("bias", {4}, {0, 1, 2, 3});
  source.put_order("bias", RowOrder::halves_of_pairs(1, 4));
  source.put("blocks", DType::q8_0, {32}, std::vector<std::byte>(34));
  take(copy, plain_tensor(source, "buffer"));
  take(copy, plain_tensor(source, "bias"));
  CHECK(copy.find("buffer")->dtype == DType::boolean);
  CHECK(copy.floats("bias") == std::vector<float>{0, 2, 1, 3});
  CHECK(test::error_of([&] { (void)plain_tensor(source, "blocks"); }) == ErrorCode::unsupported);
  CHECK(test::error_of([&] { (void)plain_tensor(source, "none"); }) == ErrorCode::not_found);
}
