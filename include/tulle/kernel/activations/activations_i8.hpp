// SPDX-License-Identifier: Apache-2.0
/// \file Activations as int8 codes with one scale per 32 columns, for the integer kernels except ELL (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/activations/quantized_row.hpp>
#include <tulle/kernel/int8/loop/dot_i8_simd128.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle {

/// x is about scale * code; code = round half even(x * 127 / max|x|) over the group, in [-127, 127]. Layout per tile of
/// `width` rows (lanes): codes [columns / 64][width][64] (the last chunk may end after 32), scales [columns /
/// 32][width], sums [columns / 16][width]. For AVX-512, and relaxed SIMD of WebAssembly, there are codes with an offset
/// too, for layouts whose weights pick their activations.
class ActivationsI8 {
 public:
  /// Room for `max_inputs` rows of at most `max_columns` columns. Errors: memory.
  ActivationsI8(std::size_t max_inputs, std::size_t max_columns)
      : codes_(round_up(max_inputs, tile_inputs) * round_up(max_columns, chunk_columns), Uninitialized{}),
        scales_(codes_.size() / group_columns, Uninitialized{}),
        sums_(codes_.size() / sum_columns, Uninitialized{}) {
    if constexpr (has_offset_codes) offset_codes_ = AlignedBuffer<std::uint8_t>(codes_.size(), Uninitialized{});
  }

  /// Sets the number of rows and columns that follow, and whether a whole row shares one scale ("per token").
  void start(std::size_t inputs, std::size_t columns, bool scale_per_row) noexcept {
    inputs_ = inputs;
    columns_ = columns;
    padded_ = round_up(columns, group_columns);
    scale_per_row_ = scale_per_row;
  }

  std::size_t inputs() const noexcept { return inputs_; }
  std::size_t size_bytes() const noexcept {
    return codes_.size_bytes() + offset_codes_.size_bytes() + scales_.size_bytes() + sums_.size_bytes();
  }
  std::size_t padded_columns() const noexcept { return padded_; }

  const std::int8_t* codes(const InputTile& tile) const noexcept { return codes_.data() + begin_of(tile); }
  const std::uint8_t* offset_codes(const InputTile& tile) const noexcept {
    return offset_codes_.data() + begin_of(tile);
  }
  const float* scales(const InputTile& tile) const noexcept { return scales_.data() + scale_begin_of(tile); }
  const std::int32_t* sums(const InputTile& tile) const noexcept { return sums_.data() + sum_begin_of(tile); }
  /// The sum of the codes of 16 or 32 columns from `begin` on.
  std::int32_t sum_of(const InputTile& tile, std::size_t begin, std::size_t columns, std::size_t lane) const noexcept {
    const std::int32_t* sum = sums(tile) + begin / sum_columns * tile.width + lane;
    return columns == sum_columns ? sum[0] : sum[0] + sum[tile.width];
  }

  /// Quantizes the rows of `range` (begins at a multiple of 8). x [rows, columns].
  template <class Isa>
  void quantize(MatrixView<const float> x, RowRange range) noexcept;

 private:
#if defined(TULLE_X86)
  static constexpr bool has_offset_codes = true;
#elif defined(TULLE_SIMD128)
  static constexpr bool has_offset_codes = simd128::has_offset;
#else
  static constexpr bool has_offset_codes = false;
#endif

  std::size_t begin_of(const InputTile& tile) const noexcept { return tile.first * round_up(padded_, chunk_columns); }
  std::size_t scale_begin_of(const InputTile& tile) const noexcept { return tile.first * (padded_ / group_columns); }
  std::size_t sum_begin_of(const InputTile& tile) const noexcept { return tile.first * (padded_ / sum_columns); }

  AlignedBuffer<std::int8_t> codes_;
  AlignedBuffer<std::uint8_t> offset_codes_;
  AlignedBuffer<float> scales_;
  AlignedBuffer<std::int32_t> sums_;
  std::size_t inputs_ = 0, columns_ = 0, padded_ = 0;
  bool scale_per_row_ = false;
};

template <class Isa>
void ActivationsI8::quantize(MatrixView<const float> x, RowRange range) noexcept {
  for (std::size_t first = range.begin; first < range.end; first += tile_inputs) {
    const InputTile tile = input_tile(first, inputs_);
    for (std::size_t lane = 0; lane < tile.width; ++lane) {
      const detail::QuantizedRow row{columns_,
                                     padded_,
                                     scale_per_row_,
                                     tile.width,
                                     lane,
                                     codes_.data() + begin_of(tile),
                                     scales_.data() + scale_begin_of(tile),
                                     sums_.data() + sum_begin_of(tile)};
      if (lane >= tile.inputs) {
        row.clear();
        continue;
      }
      with_instruction_set<Isa>([&]<class Tag>(Tag tag) {
        row.quantize(tag, x[first + lane]);
        row.copy_with_offset(tag, offset_codes_.data() + begin_of(tile));
      });
    }
  }
}

/// What every kernel with `ActivationsI8` shares: Weights has columns() and scale_per_input().
template <class Isa>
struct ActivationsI8Kernel {
  using Input = ActivationsI8;

  template <class Weights>
  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
    input.start(inputs, weights.columns(), weights.scale_per_input());
  }
  template <class Weights>
  static void prepare(const Weights&, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    input.quantize<Isa>(x, range);
  }
  template <class Weights>
  static bool shares_input(const Weights& a, const Weights& b) noexcept {
    return a.columns() == b.columns() && a.scale_per_input() == b.scale_per_input();
  }
};

namespace detail {

/// 4 codes as one 32-bit lane.
template <class Code>
inline std::int32_t load_quad(const Code* codes) noexcept {
  static_assert(sizeof(Code) == 1);
  std::int32_t quad;
  std::memcpy(&quad, codes, sizeof quad);
  return quad;
}

}  // namespace detail

}  // namespace tulle
