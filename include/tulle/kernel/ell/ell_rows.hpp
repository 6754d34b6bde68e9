// SPDX-License-Identifier: Apache-2.0
/// \file The rows of a panel as ELL packs them: codes of 8 or 4 bits and one scale (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle::detail {

/// A panel of 16 rows: codes [16][columns], scales [16]; rows behind the last that was read are zeros.
/// Not thread-safe: one for each thread. Lifetime: that of the source.
class EllRows {
 public:
  /// `nibbles`: codes of 4 bits: those of the source where it has such codes with a scale per row, else in -7 ... 7.
  EllRows(const WeightSource& source, bool nibbles)
      : rows_(source, RowQuantizer::Codes::one_scale_per_row),
        narrows_(nibbles && !fits_i4_rows(rows_.format())),
        codes_(panel_rows * source.columns()) {}

  /// Up to 16 rows.
  void read(std::span<const std::uint32_t> rows) noexcept {
    const std::size_t count = rows.size();
    rows_.read(rows, {codes_.data(), count, rows_.columns()}, scales_.data());
    for (std::size_t row = 0; row < count && narrows_; ++row) {
      narrow({codes_.data() + row * rows_.columns(), rows_.columns()}, scales_[row]);
    }
    std::fill(codes_.begin() + static_cast<std::ptrdiff_t>(count * rows_.columns()), codes_.end(), std::int8_t{0});
    std::fill(scales_.begin() + static_cast<std::ptrdiff_t>(count), scales_.end(), 0.0f);
  }

  const std::int8_t* codes(std::size_t row) const noexcept { return codes_.data() + row * rows_.columns(); }
  float scale(std::size_t row) const noexcept { return scales_[row]; }

  std::uint32_t nonzeros(std::size_t row) const noexcept {
    const auto zeros = std::count(codes(row), codes(row) + rows_.columns(), std::int8_t{0});
    return static_cast<std::uint32_t>(rows_.columns() - static_cast<std::size_t>(zeros));
  }

 private:
  /// Codes of 8 bits and their scale become codes of 4.
  static void narrow(std::span<std::int8_t> codes, float& scale) noexcept {
    int largest = 0;
    for (const std::int8_t code : codes) largest = std::max(largest, std::abs(int{code}));
    if (largest == 0) return;
    std::array<std::int8_t, 256> narrowed;  // [code + 128]
    const auto narrow_of = [&](int code) -> std::int8_t& { return narrowed[static_cast<unsigned>(code + 128)]; };
    for (int code = -largest; code <= largest && code < 128; ++code) {
      const float exact = 7.0f * static_cast<float>(code) / static_cast<float>(largest);
      narrow_of(code) = static_cast<std::int8_t>(std::nearbyint(exact));
    }
    for (std::int8_t& code : codes) code = narrow_of(code);
    scale *= static_cast<float>(largest) / 7.0f;
  }

  RowQuantizer rows_;
  bool narrows_;
  std::vector<std::int8_t> codes_;
  std::array<float, panel_rows> scales_{};
};

}  // namespace tulle::detail
