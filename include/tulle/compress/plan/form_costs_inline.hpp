// SPDX-License-Identifier: Apache-2.0
/// \file The definition of `measure_costs`: random matrices, packed and decoded (L5).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/compress/plan/form_costs.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/quantizer.hpp>
#include <tulle/compress/sparsity_mask.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>
#include <tulle/tensor/matrix.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

namespace detail {

/// The rows of a small matrix over and over.
class RepeatedRows final : public WeightSource {
 public:
  RepeatedRows(std::shared_ptr<const WeightSource> source, std::size_t rows)
      : source_(std::move(source)), rows_(rows) {}

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return source_->columns(); }
  CodeFormat code_format() const noexcept override { return source_->code_format(); }
  std::size_t size_bytes() const noexcept override { return source_->size_bytes() / source_->rows() * rows_; }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const RepeatedRows>(*this); }
  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) source_->decode_row(rows[i] % source_->rows(), out[i]);
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const CodeFormat format = code_format();
    const std::size_t per_row = format.scales_per_row(columns());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::uint32_t>(rows[i] % source_->rows());
      source_->codes({&row, 1}, {out[i], 1, out.columns, out.stride}, scales + i * per_row,
                     format.has_minimums ? minimums + i * per_row : nullptr);
    }
  }

 private:
  std::shared_ptr<const WeightSource> source_;
  std::size_t rows_;
};

/// Rows of random weights in a form, pruned by magnitude.
inline std::shared_ptr<const WeightSource> random_rows(const MatrixForm& form, std::size_t rows, std::size_t columns,
                                                       ThreadPool& pool) {
  std::uint64_t state = 88172645463325252u;
  BasicMatrix<float> weights(rows, columns);
  for (float& weight : weights.values) {
    weight = 0;
    for (int i = 0; i < 4; ++i) {  // the sum is nearly normal
      state = state * 6364136223846793005u + 1442695040888963407u;
      weight += static_cast<float>(state >> 40) * 0x1p-24f - 0.5f;
    }
  }
  std::vector<std::uint8_t> mask(weights.values.size(), 1);
  if (form.sparsity > 0) {
    const std::size_t parts[]{rows};
    select_largest<float>(std::as_const(weights).view(), parts, form.structure, form.sparsity, pool,
                          {mask.data(), rows, columns});
  }
  const QuantizationPlan plan = form.plan().quantization.value_or(QuantizationPlan{});
  const std::size_t width = form.group == 0 ? columns : form.group;
  OwnedCodes made;
  for (std::size_t begin = 0; begin < weights.values.size(); begin += width) {
    const CodeScale<float> scale = find_scale<float>({&weights.values[begin], width}, &mask[begin], plan);
    made.scales.push_back(scale.scale);
    if (form.has_minimum) made.minimums.push_back(scale.value(0));
    for (std::size_t i = begin; i < begin + width; ++i) {
      const int code = mask[i] == 0 ? 0 : scale.code(weights.values[i]);
      const bool vanishes = form.sparsity > 0 && mask[i] != 0 && code == 0;
      made.codes.push_back(static_cast<std::int8_t>(vanishes ? 1 : code));
    }
  }
  return matrix_of_codes(rows, columns, {.bits = form.bits, .group = form.group}, std::move(made));
}

}  // namespace detail

TULLE_COMPRESS_INLINE std::vector<FormCost> measure_costs(std::span<const MatrixForm> forms, std::size_t columns,
                                                          std::size_t weights, ThreadPool& pool,
                                                          const Progress& progress) {
  constexpr std::size_t pattern_rows = 64, rounds = 7;
  const std::size_t rows = std::max<std::size_t>(weights / columns / pattern_rows, 1) * pattern_rows;
  std::vector<FormCost> costs;
  std::vector<AnyKernel::Weights> packed;
  for (const MatrixForm& form : forms) {
    if (!form.fits(columns)) continue;
    const detail::RepeatedRows source(detail::random_rows(form, pattern_rows, columns, pool), rows);
    const AnyKernel::Weights& made = packed.emplace_back(AnyKernel::pack(source, {.pool = &pool}));
    costs.push_back({std::string(form.name), columns, std::string(made.kernel_name()),
                     static_cast<double>(made.size_bytes()) / static_cast<double>(rows * columns), 0});
    if (progress) progress("packing", static_cast<double>(costs.size()) / static_cast<double>(forms.size()));
  }
  const std::vector<float> x(columns, 0.5f);
  std::vector<float> y(rows);
  AnyKernel::Input input(1, columns);
  std::vector<std::vector<double>> times(packed.size());
  for (std::size_t round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < packed.size(); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      AnyKernel::start(packed[i], 1, input);
      AnyKernel::prepare(packed[i], {x.data(), 1, columns}, input, {0, 1});
      pool.run([&](std::size_t worker) noexcept {
        AnyKernel::multiply(packed[i], input, {y.data(), 1, rows}, row_share(packed[i], 1, worker, pool.size()));
      });
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (round != 0) times[i].push_back(seconds);  // the first one warms up
    }
  }
  for (std::size_t i = 0; i < packed.size(); ++i) {
    costs[i].seconds = median<double>(times[i]) / static_cast<double>(rows * columns);
  }
  return costs;
}

}  // namespace tulle
