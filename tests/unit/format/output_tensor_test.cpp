// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/output_tensor.hpp>

#include <catch2/catch_all.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;

TEST_CASE("the bytes of a tensor follow from its type and shape", "[format][output_tensor]") {
  const auto bytes = [](DType dtype, std::vector<std::size_t> shape) {
    return OutputTensor{"a", dtype, std::move(shape), {}}.size_bytes();
  };
  CHECK(bytes(DType::f16, {3, 5}) == 30);
  CHECK(bytes(DType::i64, {}) == 8);
  CHECK(bytes(DType::q8_0, {2, 64}) == 4 * 34);
  CHECK(test::error_of([&] { (void)bytes(DType::f32, {SIZE_MAX, 2}); }) == ErrorCode::malformed);
}
