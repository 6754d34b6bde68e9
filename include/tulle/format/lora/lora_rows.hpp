// SPDX-License-Identifier: Apache-2.0
/// \file A matrix with the changes of LoRA adapters added to it (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/tensor/matrix.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// left * right.
struct LowRankProduct {
  Matrix left;   ///< [rows, rank]
  Matrix right;  ///< [rank, columns]
};

/// Floats: the base's row plus the rows of the products, in their order, summed in f32. Where the base is F16 or BF16 the
/// sum is rounded to that type, as PEFT's merge does; where it has codes the sum is F32.
class LoraRows final : public WeightSource {
 public:
  using Products = std::vector<std::shared_ptr<const LowRankProduct>>;

  /// Every product has the size of the base.
  LoraRows(std::shared_ptr<const WeightSource> base, Products products)
      : base_(std::move(base)), products_(std::move(products)) {
    if (const CodeFormat format = base_->code_format(); format.bits == 0) floats_ = format.floats;
  }

  std::size_t rows() const noexcept override { return base_->rows(); }
  std::size_t columns() const noexcept override { return base_->columns(); }
  CodeFormat code_format() const noexcept override { return {.floats = floats_}; }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    base_->decode(rows, out);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float* row = out[i];
      for (const auto& product : products_) add(*product, rows[i], row);
      for (std::size_t column = 0; column < columns() && floats_ != DType::f32; ++column) {
        row[column] = floats_ == DType::f16 ? to_float(to_half(row[column])) : to_float(to_bfloat16(row[column]));
      }
    }
  }

  /// There are none.
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

  std::size_t size_bytes() const noexcept override {
    std::size_t sum = base_->size_bytes();
    for (const auto& product : products_) {
      sum += (product->left.values.size() + product->right.values.size()) * sizeof(float);
    }
    return sum;
  }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const LoraRows>(base_->copied(), products_);
  }

 private:
  static void add(const LowRankProduct& product, std::size_t index, float* row) noexcept {
    for (std::size_t k = 0; k < product.right.rows; ++k) {
      const float factor = product.left[index][k];
      const float* values = product.right[k];
      for (std::size_t column = 0; column < product.right.columns; ++column) row[column] += factor * values[column];
    }
  }

  std::shared_ptr<const WeightSource> base_;
  Products products_;
  DType floats_ = DType::f32;
};

}  // namespace tulle
