// SPDX-License-Identifier: Apache-2.0
/// \file Which kernel for int8 or 4-bit weights is the fastest for a matrix on an instruction set (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/kernel/dense/dense_i4.hpp>
#include <tulle/kernel/ell/ell.hpp>
#include <tulle/kernel/int8/balanced.hpp>
#include <tulle/kernel/int8/balanced_patterns.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/nonzero_mask.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/machine.hpp>

namespace tulle {

/// The sparsity of a matrix, and which balanced patterns it has.
struct I8Structure {
  double nonzero_share = 1;
  bool scale_per_row = false;  ///< and not one for each group of columns
  bool has_4_bits = false;     ///< and a scale per row
  bool two_of_four = false, four_of_sixteen = false, eight_of_sixteen_gap4 = false, eight_of_sixteen = false;
};

namespace detail {

/// The sparsity of the part of a matrix that was read so far.
struct SparsityStats {
  std::size_t codes = 0, nonzeros = 0;
  bool two_of_four = true, four_of_sixteen = true, eight_of_sixteen_gap4 = true, eight_of_sixteen = true;

  void add_block(const std::int8_t* block) noexcept {
    const unsigned mask = nonzero_mask_16(block);
    nonzeros += count_set_bits(mask);
    two_of_four = two_of_four && TwoOfFour::fits(mask);
    four_of_sixteen = four_of_sixteen && FourOfSixteen::fits(mask);
    eight_of_sixteen = eight_of_sixteen && EightOfSixteen::fits(mask);
    eight_of_sixteen_gap4 = eight_of_sixteen_gap4 && EightOfSixteenGap4::fits(mask);
  }
  void add(const SparsityStats& other) noexcept {
    codes += other.codes;
    nonzeros += other.nonzeros;
    two_of_four = two_of_four && other.two_of_four;
    four_of_sixteen = four_of_sixteen && other.four_of_sixteen;
    eight_of_sixteen = eight_of_sixteen && other.eight_of_sixteen;
    eight_of_sixteen_gap4 = eight_of_sixteen_gap4 && other.eight_of_sixteen_gap4;
  }
  bool is_balanced() const noexcept {
    return two_of_four || four_of_sixteen || eight_of_sixteen_gap4 || eight_of_sixteen;
  }
  double nonzero_share() const noexcept {
    return codes == 0 ? 1 : static_cast<double>(nonzeros) / static_cast<double>(codes);
  }
};

/// Reads a matrix panel by panel. Not thread-safe: one for each thread.
class SparsityScan {
 public:
  SparsityScan(const WeightSource& source, RowQuantizer::Codes of)
      : rows_(source, of),
        padded_(round_up(source.columns(), block_columns)),
        codes_(panel_rows * padded_),
        scales_(panel_rows * rows_.scales_per_row()),
        minimums_(scales_.size()) {}

  void read_panel(std::size_t panel) noexcept {
    SparsityStats of_panel;  // not a member, so that no two threads write to one cache line all the time
    const PanelRows rows(panel * panel_rows, rows_.rows());
    rows_.read(rows, {codes_.data(), rows.size(), rows_.columns(), padded_}, scales_.data(), minimums_.data());
    of_panel.codes += rows.size() * rows_.columns();
    for (std::size_t begin = 0; begin < rows.size() * padded_; begin += block_columns) {
      of_panel.add_block(&codes_[begin]);
    }
    stats_.add(of_panel);
  }

  const SparsityStats& stats() const noexcept { return stats_; }

 private:
  SparsityStats stats_;
  RowQuantizer rows_;
  std::size_t padded_;
  std::vector<std::int8_t> codes_;  // [16, padded]; behind the columns of the matrix they stay zeros
  std::vector<float> scales_, minimums_;
};

}  // namespace detail

/// Reads every code, but stops after 4 panels with hardly a zero: pruning leaves no part of a matrix out. Only a
/// balanced pattern makes 4-bit codes faster, so there it stops after 4 panels without one.
inline I8Structure measure_i8(const WeightSource& source, ThreadPool* pool = nullptr,
                              RowQuantizer::Codes of = RowQuantizer::Codes::of_file) {
  constexpr std::size_t first_panels = 4;
  constexpr double dense_share = 0.9;
  const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
  std::vector<detail::SparsityScan> probes(detail::panel_parts(pool), detail::SparsityScan(source, of));
  for (std::size_t panel = 0; panel < std::min(first_panels, panels); ++panel) probes[0].read_panel(panel);
  const detail::SparsityStats& first = probes[0].stats();
  if (of == RowQuantizer::Codes::of_4_bits ? first.is_balanced() : first.nonzero_share() < dense_share) {
    detail::for_each_panel(pool, first_panels, panels,
                           [&](std::size_t part, std::size_t panel) { probes[part].read_panel(panel); });
  }
  detail::SparsityStats stats;
  for (const detail::SparsityScan& probe : probes) stats.add(probe.stats());
  const CodeFormat format = RowQuantizer(source, of).format();
  return {stats.nonzero_share(), format.group == 0,           fits_i4_rows(format),  stats.two_of_four,
          stats.four_of_sixteen, stats.eight_of_sixteen_gap4, stats.eight_of_sixteen};
}

namespace detail {

/// Choices that are no kernel: "auto" keeps every value of the file; "i8" and "i4" quantize to 8 and 4 bits, in the
/// layout that is the fastest for the sparsity of the matrix.
inline constexpr std::string_view automatic = "auto", fastest_of_i8 = "i8", fastest_of_i4 = "i4";

/// The choice that keeps every value of a source of this format.
constexpr std::string_view lossless_choice(const CodeFormat& format) noexcept {
  if (fits_sparse_i4(format)) return fastest_of_i4;
  if (fits_i4(format)) return DenseI4::name;
  if (fits_i8(format)) return fastest_of_i8;
  return DenseF16::keeps_values(format, {}) ? DenseF16::name : DenseF32::name;
}

}  // namespace detail

/// The kernel that decodes fastest on a set, never one that is slower than dense weights (measured by
/// bench/kernels.cpp).
template <class Isa>
constexpr std::string_view fastest_i8(Isa, const I8Structure& structure, const Machine& machine) noexcept {
  const auto ell_up_to = [&](double share) { return structure.scale_per_row && structure.nonzero_share <= share; };
  constexpr double ell_i4 = 0.42;  // with as few weights ELL stores less than half of what layouts of int8 do
  const bool is_ell_i4 = structure.has_4_bits && structure.nonzero_share <= ell_i4;
  if constexpr (std::is_same_v<Isa, isa::Scalar>) {
    return DenseI8::name;
  } else if constexpr (std::is_same_v<Isa, isa::Simd128>) {
    // On vectors of 128 bits the sums that 2-bit fields need cost more than the bytes they save.
    if (structure.four_of_sixteen) return FourOfSixteenI8::name;
    return structure.eight_of_sixteen ? EightOfSixteenI8::name : DenseI8::name;
  } else if constexpr (std::is_same_v<Isa, isa::Avx512>) {
    if (is_ell_i4) return EllI4::name;
    if (structure.four_of_sixteen) return FourOfSixteenI8::name;
    // With fewer weights left than a balanced layout stores, the others are as fast.
    if (structure.nonzero_share > 0.4) {
      if (structure.two_of_four) return TwoOfFourI8::name;
      if (structure.eight_of_sixteen_gap4) return EightOfSixteenGap4I8::name;
    }
    // ELL is faster in prefill from 80 % sparsity on, and in decode from 90 % on. At 80 % its decode may be a fifth
    // slower (Intel).
    if (ell_up_to(machine.ell_avx512)) return EllI8::name;
    return structure.nonzero_share <= 0.55 ? BitmaskI8::name : DenseI8::name;
  } else {
    if (structure.four_of_sixteen) return FourOfSixteenI8::name;
    if (is_ell_i4) return EllI4::name;
    // With few weights left ELL stores fewer than a balanced layout.
    if (ell_up_to(machine.ell_avx2)) return EllI8::name;
    if (structure.two_of_four) return TwoOfFourI8::name;
    if (structure.eight_of_sixteen_gap4) return EightOfSixteenGap4I8::name;
    if (structure.eight_of_sixteen) return EightOfSixteenI8::name;
    // Without vpexpandb a bitmask takes more instructions than the bytes it saves are worth.
    constexpr bool has_vnni = std::is_same_v<Isa, isa::AvxVnni>;
    return ell_up_to(has_vnni ? machine.ell_dense_avxvnni : machine.ell_dense_avx2) ? EllI8::name : DenseI8::name;
  }
}

/// The same for codes of 4 bits with a scale per 32 columns.
inline I8Structure measure_i4(const WeightSource& source, ThreadPool* pool = nullptr) {
  return measure_i8(source, pool, RowQuantizer::Codes::of_4_bits);
}

template <class Isa>
constexpr std::string_view fastest_i4(Isa, const I8Structure& structure) noexcept {
  if constexpr (std::is_same_v<Isa, isa::Scalar>) return DenseI4::name;
  if (structure.four_of_sixteen) return FourOfSixteenI4::name;
  if constexpr (std::is_same_v<Isa, isa::Simd128>) return DenseI4::name;
  if (structure.two_of_four) return TwoOfFourI4::name;
  return structure.eight_of_sixteen_gap4 ? EightOfSixteenGap4I4::name : DenseI4::name;
}

}  // namespace tulle
