// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/encoded_tensor.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

/// The least that a source must say.
class OneTensor final : public TensorSource {
 public:
  const EncodedTensor* find(std::string_view name) const override { return name == tensor_.name ? &tensor_ : nullptr; }
  std::vector<std::string> names() const override { return {tensor_.name}; }
  std::shared_ptr<const WeightSource> matrix(const std::string&) const override { return nullptr; }
  void release(std::span<const std::byte>) const noexcept override { ++released; }

  EncodedTensor& tensor() { return tensor_; }
  mutable int released = 0;

 private:
  EncodedTensor tensor_{"a", DType::f32, {2, 3}, {}};
};

}  // namespace

TEST_CASE("a tensor has as many elements as its extents multiply to", "[tensor][encoded_tensor]") {
  CHECK(EncodedTensor{"a", DType::f32, {2, 3, 4}, {}}.elements() == 24);
  CHECK(EncodedTensor{"a", DType::f32, {5, 0}, {}}.elements() == 0);
  CHECK(EncodedTensor{"scalar", DType::f16, {}, {}}.elements() == 1);
}

TEST_CASE("a source that does not map files ignores the hint to release pages", "[tensor][encoded_tensor]") {
  const OneTensor source;
  REQUIRE(source.find("a") != nullptr);
  source.release(source.find("a")->bytes);
  CHECK(source.find("a")->elements() == 6);
  CHECK(source.find("b") == nullptr);
}

TEST_CASE("the bytes of a tensor are released once, at the end", "[tensor][encoded_tensor]") {
  const OneTensor source;
  {
    const TensorBytes bytes(source, *source.find("a"));
    CHECK(source.released == 0);
  }
  CHECK(source.released == 1);
}

TEST_CASE("small tensors are read as floats, in the order that they name", "[tensor][encoded_tensor]") {
  OneTensor source;
  const float values[] = {0, 1, 2, 3, 4, 5};
  source.tensor() = {"a", DType::f32, {6}, std::as_bytes(std::span(values))};
  CHECK(read_floats(source, source.tensor()) == std::vector<float>{0, 1, 2, 3, 4, 5});
  source.tensor().order = RowOrder::halves_of_pairs(1, 6);
  CHECK(read_floats(source, source.tensor()) == std::vector<float>{0, 2, 4, 1, 3, 5});
  CHECK(source.released == 2);
  source.tensor().offset = -1;
  CHECK(read_floats(source, source.tensor()) == std::vector<float>{-1, 1, 3, 0, 2, 4});
  const std::int16_t integers[] = {-32768, 2};
  source.tensor() = {"a", DType::i16, {2}, std::as_bytes(std::span(integers))};
  CHECK(read_floats(source, source.tensor()) == std::vector<float>{-32768, 2});
  source.tensor() = {"a", DType::q8_0, {32}, {}};
  try {
    (void)read_floats(source, source.tensor());
    FAIL("read");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
  }
}
