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
