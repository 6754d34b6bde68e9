// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/lora/lora_rows.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <memory>
#include <vector>

using namespace tulle;

namespace {

/// Every weight is 1.
class Ones final : public WeightSource {
 public:
  explicit Ones(CodeFormat format) : format_(format) {}
  std::size_t rows() const noexcept override { return 3; }
  std::size_t columns() const noexcept override { return 2; }
  CodeFormat code_format() const noexcept override { return format_; }
  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i][0] = out[i][1] = 1;
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}
  std::size_t size_bytes() const noexcept override { return 6; }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const Ones>(format_); }

 private:
  CodeFormat format_;
};

/// Rank 2; row r of the product is {r + 100 e, -r}.
std::shared_ptr<const LowRankProduct> product(float e) {
  LowRankProduct result{Matrix(3, 2), Matrix(2, 2)};
  result.left.values = {0, 100, 1, 100, 2, 100};
  result.right.values = {1, -1, e, 0};
  return std::make_shared<const LowRankProduct>(std::move(result));
}

std::vector<float> values_of(const WeightSource& source) {
  std::vector<float> values(6);
  const std::array<std::uint32_t, 3> rows{2, 0, 1};
  source.decode(rows, {values.data(), 3, 2});
  return values;
}

}  // namespace

TEST_CASE("rows with LoRA are the base plus every product", "[format][lora_rows]") {
  const LoraRows rows(std::make_shared<const Ones>(CodeFormat{}), {product(0.5f), product(0.25f)});
  CHECK(values_of(rows) == std::vector<float>{80, -3, 76, 1, 78, -1});
  CHECK(values_of(*rows.copied()) == values_of(rows));
  CHECK(rows.code_format() == CodeFormat{});
  CHECK(rows.size_bytes() == 6 + 2 * 10 * sizeof(float));
}

TEST_CASE("rows with LoRA keep their base's type of floats, and have no codes", "[format][lora_rows]") {
  const auto with = [](CodeFormat format) {
    return LoraRows(std::make_shared<const Ones>(format), {product(1.00001f)});
  };
  CHECK(with({}).code_format().floats == DType::f32);
  CHECK(values_of(with({}))[0] == 103.001f);
  const LoraRows half = with({.floats = DType::f16}), brain = with({.floats = DType::bf16});
  CHECK(half.code_format().floats == DType::f16);
  CHECK(values_of(half)[0] == 103.f);
  CHECK(brain.code_format().floats == DType::bf16);
  CHECK(values_of(brain)[0] == 103.f);
  CHECK(values_of(with({.bits = 8, .floats = DType::f16}))[0] == 103.001f);
  CHECK(with({.bits = 8}).code_format() == CodeFormat{});
}
