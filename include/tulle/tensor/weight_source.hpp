// SPDX-License-Identifier: Apache-2.0
/// \file A weight matrix to read from, a panel of rows at a time, however its file stores it (L1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/tensor/dtype.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/row_order.hpp>

namespace tulle {

/// What the values of a matrix are made of: floats, or integer codes with scales (value = scale * code + minimum).
struct CodeFormat {
  std::size_t bits =
      0;  ///< of a code: signed without minimums, from 0 on with them; 0: the matrix has floats, no codes
  std::size_t group = 0;  ///< columns that share a scale; 0: a whole row
  std::size_t block = 0;  ///< columns whose scales (and minimums) are products of an int8 factor each and one f16; or 0
  bool has_minimums = false;
  bool half_scales = false;   ///< every scale and minimum is exact in f16
  DType floats = DType::f32;  ///< the smallest of F32, F16 and BF16 that holds every value of a matrix without codes

  bool operator==(const CodeFormat&) const = default;

  std::size_t groups(std::size_t columns) const noexcept { return group == 0 ? 1 : (columns + group - 1) / group; }

  /// Numbers for the scales of a row: those of its groups; with blocks the factors of its groups, then the f16 of its
  /// blocks.
  std::size_t scales_per_row(std::size_t columns) const noexcept {
    return groups(columns) + (block == 0 ? 0 : columns / block);
  }

  /// Of those numbers the scales of the groups, exactly, in the place of their factors.
  void multiply_out(float* scales, std::size_t columns) const noexcept {
    const float* of_blocks = scales + groups(columns);
    for (std::size_t at = 0; at < groups(columns) && block != 0; ++at) scales[at] *= of_blocks[at * group / block];
  }
};

/// Rows of a weight matrix W [rows, columns]. Packers read the 16 rows of a panel at once, so a transposed or
/// bit-packed matrix can serve them too.
/// Threads: const members may run concurrently.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  virtual std::size_t rows() const noexcept = 0;
  virtual std::size_t columns() const noexcept = 0;
  virtual CodeFormat code_format() const noexcept = 0;

  /// Rows as floats: exact in f32 but for one rounding where a scale multiplies a code and one where a minimum is
  /// added. out [rows.size(), columns].
  virtual void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept = 0;

  /// Rows as codes [rows.size(), columns] with scales and, where the format has them, minimums
  /// [rows.size(), scales_per_row].
  /// Only where `code_format().bits` is not 0.
  virtual void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
                     float* minimums) const noexcept = 0;

  /// Of the rows as they are encoded.
  virtual std::size_t size_bytes() const noexcept = 0;

  /// The same rows in memory of their own. Errors: memory.
  virtual std::shared_ptr<const WeightSource> copied() const = 0;

  /// All bytes that the rows are read from; none where these do not follow each other.
  virtual std::span<const std::byte> bytes() const noexcept { return {}; }

  /// The same rows out of other bytes, which the caller keeps; null unless they are as many as `bytes()`, and some.
  virtual std::shared_ptr<const WeightSource> over(std::span<const std::byte>) const { return nullptr; }

  /// Row `row` as floats. out [columns].
  void decode_row(std::size_t row, float* out) const noexcept {
    const auto index = static_cast<std::uint32_t>(row);
    decode({&index, 1}, {out, 1, columns()});
  }
};

/// The numbers of up to 16 consecutive rows: those of a panel.
class PanelRows {
 public:
  /// `first` is below `end`.
  PanelRows(std::size_t first, std::size_t end) noexcept : count_(std::min(end - first, rows_.size())) {
    for (std::size_t i = 0; i < count_; ++i) rows_[i] = static_cast<std::uint32_t>(first + i);
  }

  std::size_t size() const noexcept { return count_; }
  // NOLINTNEXTLINE(google-explicit-constructor): what takes row numbers takes those of a panel
  operator std::span<const std::uint32_t>() const noexcept { return {rows_.data(), count_}; }

 private:
  std::array<std::uint32_t, 16> rows_;
  std::size_t count_;
};

/// The rows of another source in an order of their own.
class OrderedRows final : public WeightSource {
 public:
  /// `order` stays inside of `source`.
  OrderedRows(std::shared_ptr<const WeightSource> source, const RowOrder& order)
      : source_(std::move(source)), order_(order) {}

  std::size_t rows() const noexcept override { return order_.rows(); }
  std::size_t columns() const noexcept override { return source_->columns(); }
  CodeFormat code_format() const noexcept override { return source_->code_format(); }
  std::size_t size_bytes() const noexcept override { return source_->size_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const OrderedRows>(source_->copied(), order_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for_each_part(rows, [&](std::size_t begin, std::span<const std::uint32_t> part) {
      source_->decode(part, {out[begin], part.size(), out.columns, out.stride});
    });
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const std::size_t per_row = code_format().scales_per_row(columns());
    for_each_part(rows, [&](std::size_t begin, std::span<const std::uint32_t> part) {
      source_->codes(part, {out[begin], part.size(), out.columns, out.stride}, scales + begin * per_row,
                     minimums == nullptr ? nullptr : minimums + begin * per_row);
    });
  }

 private:
  /// Calls work(begin, rows of the source) for up to 16 rows at a time.
  template <class Work>
  void for_each_part(std::span<const std::uint32_t> rows, Work work) const noexcept {
    std::array<std::uint32_t, 16> part;
    for (std::size_t begin = 0; begin < rows.size(); begin += part.size()) {
      const std::size_t count = std::min(part.size(), rows.size() - begin);
      for (std::size_t i = 0; i < count; ++i) part[i] = static_cast<std::uint32_t>(order_[rows[begin + i]]);
      work(begin, std::span<const std::uint32_t>(part.data(), count));
    }
  }

  std::shared_ptr<const WeightSource> source_;
  RowOrder order_;
};

/// `source` itself, or its rows in `order` where that does not take them as they lie.
inline std::shared_ptr<const WeightSource> in_order(std::shared_ptr<const WeightSource> source, const RowOrder& order) {
  if (order.as_it_lies()) return source;
  return std::make_shared<const OrderedRows>(std::move(source), order);
}

/// The rows of several sources of equal columns, one source after the other.
class StackedRows final : public WeightSource {
 public:
  /// At least one source.
  explicit StackedRows(std::vector<std::shared_ptr<const WeightSource>> sources) : sources_(std::move(sources)) {
    for (const auto& source : sources_) ends_.push_back(rows() + source->rows());
  }

  std::size_t rows() const noexcept override { return ends_.empty() ? 0 : ends_.back(); }
  std::size_t columns() const noexcept override { return sources_.front()->columns(); }

  /// That of the sources where they have one in common, else F32 without codes.
  CodeFormat code_format() const noexcept override {
    const CodeFormat first = sources_.front()->code_format();
    const bool same = std::all_of(sources_.begin(), sources_.end(),
                                  [&](const auto& source) { return source->code_format() == first; });
    return same ? first : CodeFormat{};
  }
  std::size_t size_bytes() const noexcept override {
    std::size_t sum = 0;
    for (const auto& source : sources_) sum += source->size_bytes();
    return sum;
  }
  std::shared_ptr<const WeightSource> copied() const override {
    std::vector<std::shared_ptr<const WeightSource>> copies;
    for (const auto& source : sources_) copies.push_back(source->copied());
    return std::make_shared<const StackedRows>(std::move(copies));
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for_each_part(rows, [&](const WeightSource& source, std::size_t begin, std::span<const std::uint32_t> part) {
      source.decode(part, {out[begin], part.size(), out.columns, out.stride});
    });
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const std::size_t per_row = code_format().scales_per_row(columns());
    for_each_part(rows, [&](const WeightSource& source, std::size_t begin, std::span<const std::uint32_t> part) {
      source.codes(part, {out[begin], part.size(), out.columns, out.stride}, scales + begin * per_row,
                   minimums == nullptr ? nullptr : minimums + begin * per_row);
    });
  }

 private:
  /// Calls work(source, begin, rows of the source) for neighbours of one source, up to 16 at a time.
  template <class Work>
  void for_each_part(std::span<const std::uint32_t> rows, Work work) const noexcept {
    std::array<std::uint32_t, 16> part;
    for (std::size_t begin = 0, count = 0; begin < rows.size(); begin += count) {
      const auto index =
          static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), rows[begin]) - ends_.begin());
      const std::size_t source_begin = index == 0 ? 0 : ends_[index - 1];
      for (count = 0; count < part.size() && begin + count < rows.size(); ++count) {
        const std::size_t row = rows[begin + count];
        if (row < source_begin || row >= ends_[index]) break;
        part[count] = static_cast<std::uint32_t>(row - source_begin);
      }
      work(*sources_[index], begin, std::span<const std::uint32_t>(part.data(), count));
    }
  }

  std::vector<std::shared_ptr<const WeightSource>> sources_;
  std::vector<std::size_t> ends_;  // of each source's rows
};

}  // namespace tulle
