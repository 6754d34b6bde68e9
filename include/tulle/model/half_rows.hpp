// SPDX-License-Identifier: Apache-2.0
/// \file Rows of floats that were rounded to F16 (L3).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/checked.hpp>
#include <tulle/core/half.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/tensor/float_elements.hpp>
#include <tulle/tensor/ops.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Half the bytes of F32.
class HalfRows final : public WeightSource {
 public:
  /// F32 rows, rounded by the threads of `pool` (null: the caller's alone). Null for rows of any other encoding, and
  /// where a value is beyond the range of F16. Errors: memory.
  static std::shared_ptr<const HalfRows> of(const WeightSource& source, ThreadPool* pool = nullptr) {
    if (!are_smaller(source)) return nullptr;
    AlignedBuffer<Half> halves(source.rows() * source.columns(), Uninitialized{});
    return round(source, pool, halves.data()) ? std::make_shared<const HalfRows>(std::move(halves), source.columns())
                                              : nullptr;
  }

  /// What `of` gave for the same source, over its `bytes()`, at an even address. Null where their number is another.
  /// Lifetime: that of the bytes.
  static std::shared_ptr<const HalfRows> over(const WeightSource& source, std::span<const std::byte> bytes) {
    const std::size_t size = source.rows() * source.columns();
    if (!are_smaller(source) || bytes.size() / sizeof(Half) != size || bytes.size() % sizeof(Half) != 0) return nullptr;
    return std::make_shared<const HalfRows>(std::span(reinterpret_cast<const Half*>(bytes.data()), size),
                                            source.columns());
  }

  /// halves: [rows, columns].
  HalfRows(AlignedBuffer<Half> halves, std::size_t columns) noexcept
      : own_(std::move(halves)), halves_(own_.span()), columns_(columns) {}
  HalfRows(std::span<const Half> halves, std::size_t columns) noexcept : halves_(halves), columns_(columns) {}

  std::size_t rows() const noexcept override { return halves_.size() / columns_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return {.floats = DType::f16}; }
  std::size_t size_bytes() const noexcept override { return halves_.size_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    AlignedBuffer<Half> copy(halves_.size(), Uninitialized{});
    std::copy(halves_.begin(), halves_.end(), copy.begin());
    return std::make_shared<const HalfRows>(std::move(copy), columns_);
  }
  std::span<const std::byte> bytes() const noexcept override { return std::as_bytes(halves_); }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      decode_floats(DType::f16, std::as_bytes(halves_.subspan(rows[i] * columns_)).data(), columns_, out[i]);
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  static bool are_smaller(const WeightSource& source) {
    const std::size_t size = checked_multiply(source.rows(), source.columns(), "an embedding");
    const CodeFormat format = source.code_format();
    return format.bits == 0 && format.floats == DType::f32 && source.size_bytes() / sizeof(Half) > size;
  }

  /// Whether all values are in range.
  static bool round(const WeightSource& source, ThreadPool* pool, Half* out) {
    const std::size_t columns = source.columns();
    std::vector<std::vector<float>> values(detail::panel_parts(pool), std::vector<float>(panel_rows * columns));
    std::atomic<bool> fits{true};
    const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
    detail::for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
      const PanelRows rows(panel * panel_rows, source.rows());
      const std::span<float> floats(values[part].data(), rows.size() * columns);
      source.decode(rows, {floats.data(), rows.size(), columns});
      const auto is_inside = [](float value) { return std::abs(value) <= 65504.0f; };  // no NaN is
      if (!std::all_of(floats.begin(), floats.end(), is_inside)) fits = false;
      to_halves(floats.data(), floats.size(), out + panel * panel_rows * columns);
    });
    return fits;
  }

  AlignedBuffer<Half> own_;       // empty where the halves are the caller's
  std::span<const Half> halves_;  // [rows, columns]
  std::size_t columns_;
};

}  // namespace tulle
