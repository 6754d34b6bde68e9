// SPDX-License-Identifier: Apache-2.0
/// \file Weight matrices as files hold them, for tests: the same bytes on every machine.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/core/rng.hpp>
#include <tulle/format/encoding/blocks_of_256.hpp>
#include <tulle/format/encoding/blocks_of_32.hpp>
#include <tulle/format/encoding/file_rows.hpp>
#include <tulle/format/encoding/i8.hpp>
#include <tulle/format/encoding/mxfp4.hpp>
#include <tulle/format/encoding/plain.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle::testing {

/// A stream of numbers that depends on its seed alone.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : seed_(seed) {}

  std::uint32_t bits() noexcept { return philox({drawn_++, 0, 0, 0}, {seed_, 0})[0]; }
  std::size_t below(std::size_t bound) noexcept { return bits() % bound; }
  float between(float low, float high) noexcept {
    return std::fma(high - low, static_cast<float>(bits() >> 8) * 0x1p-24f, low);  // one rounding on every machine
  }

 private:
  std::uint32_t seed_;
  std::uint32_t drawn_ = 0;
};

inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed, float low = -2, float high = 2) {
  Numbers numbers(seed);
  std::vector<float> values(count);
  for (float& value : values) value = numbers.between(low, high);
  return values;
}

/// Rows that lie anywhere, of one type or of several; rows of I8 have a scale each.
class RowList final : public WeightSource {
 public:
  struct Row {
    const std::byte* data;
    DType dtype;
    float scale;
  };

  explicit RowList(std::size_t columns) : columns_(columns) {}

  void append(const std::byte* data, DType dtype, float scale = 1.0f) { rows_.push_back({data, dtype, scale}); }
  const Row& operator[](std::size_t row) const { return rows_[row]; }

  std::size_t rows() const noexcept override { return rows_.size(); }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override {
    const bool same = !rows_.empty() && std::all_of(rows_.begin(), rows_.end(),
                                                    [&](const Row& row) { return row.dtype == rows_.front().dtype; });
    return same ? format_of(rows_.front().dtype) : CodeFormat{};
  }
  std::size_t size_bytes() const noexcept override {
    return rows_.empty() ? 0 : rows() * dtype_bytes(rows_.front().dtype, columns_, "test rows");
  }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const RowList>(*this); }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) source(rows[i])->decode_row(0, out[i]);
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const std::uint32_t first = 0;
    const std::size_t per_row = code_format().scales_per_row(columns_);
    for (std::size_t i = 0; i < rows.size(); ++i, scales += per_row) {
      source(rows[i])->codes({&first, 1}, {out[i], 1, columns_}, scales, minimums);
      if (minimums != nullptr) minimums += per_row;
    }
  }

  /// Of the files' type.
  static const RowEncoding& encoding_of(DType dtype) {
    for (const RowEncoding* encoding :
         {&f32_rows, &f16_rows, &bf16_rows, &q8_0_rows, &q4_0_rows, &q4_1_rows, &q5_0_rows, &q5_1_rows, &q2_k_rows,
          &q3_k_rows, &q4_k_rows, &q5_k_rows, &q6_k_rows, &q8_k_rows, &iq4_nl_rows, &iq4_xs_rows, &mxfp4_rows,
          &tq1_0_rows, &tq2_0_rows}) {
      if (encoding->dtype == dtype) return *encoding;
    }
    throw std::logic_error("RowList: another type");
  }
  static CodeFormat format_of(DType dtype) {
    return dtype == DType::i8 ? CodeFormat{.bits = 8} : encoding_of(dtype).format;
  }

 private:
  /// One row.
  std::shared_ptr<const WeightSource> source(std::size_t index) const {
    const Row& row = rows_[index];
    auto bytes = std::make_unique<const MatrixBytes>(
        std::span<const std::byte>(row.data, dtype_bytes(row.dtype, columns_, "a test row")));
    if (row.dtype == DType::i8) {
      return i8_rows(std::move(bytes), 1, columns_, CodeScales{.scales = {row.scale}});
    }
    return std::make_shared<const FileRows>(encoding_of(row.dtype), std::move(bytes), 1, columns_);
  }

  std::size_t columns_;
  std::vector<Row> rows_;
};

/// The bytes of a matrix and the rows that lie in them.
struct EncodedMatrix {
  explicit EncodedMatrix(std::size_t columns) : rows(columns) {}
  EncodedMatrix(EncodedMatrix&&) = default;

  std::vector<std::byte> bytes;
  RowList rows;
  float largest_minimum = 0;  ///< the largest |minimum| of a group
};

/// Writes random rows of one type. Codes are random bytes, or all the byte `code`; one scale in eight is subnormal.
class MatrixEncoder {
 public:
  MatrixEncoder(DType dtype, std::uint32_t seed, std::optional<std::uint8_t> code = std::nullopt)
      : dtype_(dtype), numbers_(seed), code_(code) {}

  /// The first row lies at an odd address, as it may in a mapped file. `columns` is a whole number of blocks.
  EncodedMatrix encode(std::size_t rows, std::size_t columns) {
    EncodedMatrix matrix(columns);
    const std::size_t row_bytes = dtype_bytes(dtype_, columns, "a test matrix");
    bytes_.reserve(1 + rows * row_bytes);
    bytes_.push_back(std::byte{0});
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; column += dtype_info(dtype_).block_elements) put_block();
    }
    matrix.bytes = std::exchange(bytes_, {});
    for (std::size_t row = 0; row < rows; ++row) {
      const float scale = dtype_ == DType::i8 ? numbers_.between(0.001f, 0.02f) : 1.0f;
      matrix.rows.append(matrix.bytes.data() + 1 + row * row_bytes, dtype_, scale);
    }
    matrix.largest_minimum = largest_minimum_;
    return matrix;
  }

 private:
  template <class T>
  void put(T value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
  }
  void put_codes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) put(code_.value_or(static_cast<std::uint8_t>(numbers_.bits())));
  }
  Half half(float low, float high) {
    if (numbers_.below(8) == 0) return {static_cast<std::uint16_t>(numbers_.bits() & 0x83FFu)};
    return to_half(numbers_.between(low, high));
  }
  float element() {
    if (code_) return static_cast<float>(static_cast<std::int8_t>(*code_));
    return numbers_.below(16) == 0 ? std::bit_cast<float>(numbers_.bits() & 0x807FFFFFu) : numbers_.between(-1, 1);
  }

  void put_block() {
    switch (dtype_) {
      case DType::f32: put(element()); return;
      case DType::f16: put(code_ ? to_half(element()) : half(-1, 1)); return;
      case DType::bf16: put(to_bfloat16(element())); return;
      case DType::i8: put_codes(1); return;
      case DType::q8_0: return put_block(true, 0.02f);
      case DType::iq4_nl: return put_block(true, 0.02f);
      case DType::q4_0: return put_block(true, 0.2f);
      case DType::q5_0: return put_block(true, 0.2f);
      case DType::q4_1: return put_block(true, 0.2f, 1);
      case DType::q5_1: return put_block(true, 0.2f, 1);
      case DType::q2_k: return put_block(false, 0.02f, 15);
      case DType::q3_k: return put_block(false, 0.005f);
      case DType::q4_k: return put_block(true, 0.002f, 63);
      case DType::q5_k: return put_block(true, 0.002f, 63);
      case DType::q6_k: return put_block(false, 0.001f);
      case DType::iq4_xs: return put_block(true, 0.001f);
      case DType::tq1_0: return put_block(false, 1);
      case DType::tq2_0: return put_block(false, 1);
      case DType::mxfp4:
        put(static_cast<std::uint8_t>(120 + numbers_.below(8)));
        put_codes(16);
        return;
      case DType::q8_k:
        put(numbers_.between(-0.02f, 0.02f));
        put_codes(256 + 32);
        return;
      default: put_codes(dtype_info(dtype_).block_bytes);  // integers and F64
    }
  }

  /// The f16 scale, and a minimum that factors up to `largest_factor` may multiply (0: there is none), before or
  /// behind random (or `code`) codes and factors.
  void put_block(bool numbers_first, float largest_scale, std::size_t largest_factor = 0) {
    const auto put_numbers = [&] {
      put(half(-largest_scale, largest_scale));
      if (largest_factor == 0) return;
      const auto factor = static_cast<float>(largest_factor);
      const Half minimum = half(-1 / factor, 1 / factor);
      largest_minimum_ = std::max(largest_minimum_, factor * std::fabs(to_float(minimum)));
      put(minimum);
    };
    if (numbers_first) put_numbers();
    put_codes(dtype_info(dtype_).block_bytes - (largest_factor == 0 ? 2 : 4));
    if (!numbers_first) put_numbers();
  }

  DType dtype_;
  Numbers numbers_;
  std::optional<std::uint8_t> code_;
  std::vector<std::byte> bytes_;
  float largest_minimum_ = 0;
};

inline EncodedMatrix random_matrix(DType dtype, std::size_t rows, std::size_t columns, std::uint32_t seed) {
  return MatrixEncoder(dtype, seed).encode(rows, columns);
}

/// Which weights are zero: all but `kept` of every `group` neighbours, at most `widest` columns from one to the next.
struct Zeros {
  std::size_t kept = 1, group = 1;
  std::size_t widest = 16;
  bool uneven = false;  ///< every other row keeps nothing but in one of eight groups
};

/// Sets weights of an F32, I8, Q8_0 or Q4_0 matrix to zero.
inline EncodedMatrix pruned(EncodedMatrix matrix, Zeros zeros, std::uint32_t seed) {
  if (zeros.kept == zeros.group) return matrix;
  Numbers numbers(seed);
  const std::size_t columns = matrix.rows.columns();
  const auto clear = [&](std::size_t row, std::size_t column) {
    const auto& encoded = matrix.rows[row];
    std::byte* bytes = matrix.bytes.data() + (encoded.data - matrix.bytes.data());
    switch (encoded.dtype) {
      case DType::f32: std::memset(bytes + 4 * column, 0, 4); break;
      case DType::i8: bytes[column] = std::byte{0}; break;
      case DType::q8_0: bytes[column / 32 * 34 + 2 + column % 32] = std::byte{0}; break;
      case DType::q4_0: {  // the 32 of a block lie in the low nibbles of 16 bytes, then in the high ones; 8 is zero
        std::byte& pair = bytes[column / 32 * 18 + 2 + column % 16];
        const bool is_low = column % 32 < 16;
        pair = (pair & std::byte{is_low ? std::uint8_t{0xF0} : std::uint8_t{0x0F}}) |
               std::byte{is_low ? std::uint8_t{8} : std::uint8_t{0x80}};
        break;
      }
      default: throw std::logic_error("pruned: another type");
    }
  };
  std::vector<std::size_t> kept(zeros.kept);
  for (std::size_t row = 0; row < matrix.rows.rows(); ++row) {
    for (std::size_t begin = 0; begin < columns; begin += zeros.group) {
      for (bool good = false; !good;) {
        for (std::size_t i = 0; i < kept.size();) {
          kept[i] = numbers.below(zeros.group);
          if (std::find(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(i), kept[i]) ==
              kept.begin() + static_cast<std::ptrdiff_t>(i)) {
            ++i;
          }
        }
        std::sort(kept.begin(), kept.end());
        good = kept.front() < zeros.widest;
        for (std::size_t i = 1; i < kept.size(); ++i) good = good && kept[i] - kept[i - 1] <= zeros.widest;
      }
      for (std::size_t k = 0; k < zeros.group && begin + k < columns; ++k) {
        const bool is_thin = zeros.uneven && row % 2 == 1 && begin / zeros.group % 8 != 0;
        if (is_thin || !std::binary_search(kept.begin(), kept.end(), k)) clear(row, begin + k);
      }
    }
  }
  return matrix;
}

/// F32 rows with these values.
inline EncodedMatrix float_matrix(std::size_t rows, std::size_t columns, const std::vector<float>& values) {
  EncodedMatrix matrix(columns);
  matrix.bytes.resize(1 + values.size() * sizeof(float));
  std::memcpy(matrix.bytes.data() + 1, values.data(), values.size() * sizeof(float));
  for (std::size_t row = 0; row < rows; ++row) {
    matrix.rows.append(matrix.bytes.data() + 1 + row * columns * sizeof(float), DType::f32);
  }
  return matrix;
}

/// Equal bits, or both NaN: a NaN must show, but which NaN it is may differ between instruction sets.
inline bool same_value(float a, float b) noexcept {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

/// X in one row after the other, each followed by a NaN that no kernel may read, the last one by nothing at all.
class InputRows {
 public:
  InputRows(std::size_t rows, std::size_t columns, const std::vector<float>& values)
      : rows_(rows), columns_(columns), values_(rows * (columns + 1) - 1, std::bit_cast<float>(0x7FC00000u)) {
    for (std::size_t row = 0; row < rows; ++row) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * columns), columns,
                  values_.begin() + static_cast<std::ptrdiff_t>(row * (columns + 1)));
    }
  }

  float* row(std::size_t index) noexcept { return values_.data() + index * (columns_ + 1); }
  /// The first `count` rows.
  MatrixView<const float> first(std::size_t count) const noexcept {
    return {values_.data(), count, columns_, columns_ + 1};
  }
  MatrixView<const float> only(std::size_t index) const noexcept {
    return {values_.data() + index * (columns_ + 1), 1, columns_, columns_ + 1};
  }
  std::size_t rows() const noexcept { return rows_; }

 private:
  std::size_t rows_, columns_;
  std::vector<float> values_;
};

}  // namespace tulle::testing
