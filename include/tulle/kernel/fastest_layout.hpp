// SPDX-License-Identifier: Apache-2.0
/// \file Which layout of int8 or 4-bit weights is the fastest for a matrix on an instruction set (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tulle/kernel/int8/balanced_patterns.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/nonzero_mask.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// What the codes of a matrix allow.
struct I8Structure {
  double nonzero_share = 1;
  bool scale_per_row = false;  ///< and not one for each group of columns
  bool two_of_four = false, four_of_sixteen = false, eight_of_sixteen_gap4 = false, eight_of_sixteen = false;
};

namespace detail {

/// What was seen of a matrix so far.
struct SparsityStats {
  std::size_t codes = 0, nonzeros = 0;
  bool two_of_four = true, four_of_sixteen = true, eight_of_sixteen_gap4 = true, eight_of_sixteen = true;

  void look_at(const std::int8_t* block) noexcept {
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

/// Looks at a matrix panel by panel. Not thread-safe: one for each thread.
class SparsityScan {
 public:
  SparsityScan(const WeightSource& source, RowQuantizer::Codes of)
      : rows_(source, of),
        padded_(round_up(source.columns(), block_columns)),
        codes_(panel_rows * padded_),
        scales_(panel_rows * rows_.scales_per_row()) {}

  void look_at_panel(std::size_t panel) noexcept {
    SparsityStats sight;  // not a member, so that no two threads write to one cache line all the time
    const PanelRows rows(panel * panel_rows, rows_.rows());
    rows_.read(rows, {codes_.data(), rows.size(), rows_.columns(), padded_}, scales_.data());
    sight.codes += rows.size() * rows_.columns();
    for (std::size_t begin = 0; begin < rows.size() * padded_; begin += block_columns) sight.look_at(&codes_[begin]);
    sight_.add(sight);
  }

  const SparsityStats& sight() const noexcept { return sight_; }

 private:
  SparsityStats sight_;
  RowQuantizer rows_;
  std::size_t padded_;
  std::vector<std::int8_t> codes_;  // [16, padded]; behind the columns of the matrix they stay zeros
  std::vector<float> scales_;
};

}  // namespace detail

/// Looks at every code, but gives up after 4 panels with hardly a zero or, of 4-bit codes, which only a pattern helps, without
/// one: pruning leaves no part of a matrix out.
inline I8Structure measure_i8(const WeightSource& source, ThreadPool* pool = nullptr,
                              RowQuantizer::Codes of = RowQuantizer::Codes::of_file) {
  constexpr std::size_t first_panels = 4;
  constexpr double dense_share = 0.9;
  const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
  std::vector<detail::SparsityScan> probes(detail::panel_parts(pool), detail::SparsityScan(source, of));
  for (std::size_t panel = 0; panel < std::min(first_panels, panels); ++panel) probes[0].look_at_panel(panel);
  const detail::SparsityStats& first = probes[0].sight();
  if (of == RowQuantizer::Codes::of_4_bits ? first.is_balanced() : first.nonzero_share() < dense_share) {
    detail::for_each_panel(pool, first_panels, panels,
                           [&](std::size_t part, std::size_t panel) { probes[part].look_at_panel(panel); });
  }
  detail::SparsityStats sight;
  for (const detail::SparsityScan& probe : probes) sight.add(probe.sight());
  return {sight.nonzero_share(), RowQuantizer(source, of).group() == 0, sight.two_of_four,
          sight.four_of_sixteen, sight.eight_of_sixteen_gap4,           sight.eight_of_sixteen};
}

/// The layout that decodes fastest, never one that loses to dense weights (measured by bench/kernels.cpp). Processors of Intel
/// carry out fewer byte shuffles in the time that memory takes, so that windowed ELL wins only with fewer weights.
constexpr KernelChoice fastest_i8(const I8Structure& structure, InstructionSet set, bool intel) noexcept {
  if (set == InstructionSet::scalar) return KernelChoice::dense_i8;
  if (structure.four_of_sixteen) return KernelChoice::four_of_sixteen_i8;
  // On vectors of 128 bits the sums that 2-bit fields need cost more than the bytes they save.
  if (set == InstructionSet::simd128) {
    return structure.eight_of_sixteen ? KernelChoice::eight_of_sixteen_i8 : KernelChoice::dense_i8;
  }
  if (set == InstructionSet::avx512) {
    // With fewer weights left than a pattern keeps, the others only cost.
    if (structure.nonzero_share > 0.4) {
      if (structure.two_of_four) return KernelChoice::two_of_four_i8;
      if (structure.eight_of_sixteen_gap4) return KernelChoice::eight_of_sixteen_gap4_i8;
    }
    // From 80 % zeros windowed ELL wins in prefill, from 90 % in decode too, where it may be a fifth behind at 80 % (Intel).
    if (structure.scale_per_row && structure.nonzero_share <= (intel ? 0.15 : 0.22)) return KernelChoice::ell_i8;
    return structure.nonzero_share <= 0.55 ? KernelChoice::bitmask_i8 : KernelChoice::dense_i8;
  }
  // With few weights left, hardly more than a pattern asks for are stored where none is kept to.
  if (structure.scale_per_row && structure.nonzero_share <= (intel ? 0.22 : 0.32)) return KernelChoice::ell_i8;
  if (structure.two_of_four) return KernelChoice::two_of_four_i8;
  if (structure.eight_of_sixteen_gap4) return KernelChoice::eight_of_sixteen_gap4_i8;
  if (structure.eight_of_sixteen) return KernelChoice::eight_of_sixteen_i8;
  // Without vpexpandb a bitmask takes more instructions than the bytes it saves are worth.
  // AVX-VNNI multiplies the dense weights of a prompt at twice the speed: there half the zeros would cost more than they gain.
  const double max_nonzeros = set == InstructionSet::avx_vnni && intel ? 0.36 : 0.52;
  return structure.scale_per_row && structure.nonzero_share <= max_nonzeros ? KernelChoice::ell_i8
                                                                            : KernelChoice::dense_i8;
}

/// The same for codes of 4 bits with a scale per 32 columns.
inline I8Structure measure_i4(const WeightSource& source, ThreadPool* pool = nullptr) {
  return measure_i8(source, pool, RowQuantizer::Codes::of_4_bits);
}

constexpr KernelChoice fastest_i4(const I8Structure& structure, InstructionSet set) noexcept {
  if (set == InstructionSet::scalar) return KernelChoice::dense_i4;
  if (structure.four_of_sixteen) return KernelChoice::four_of_sixteen_i4;
  if (set == InstructionSet::simd128) return KernelChoice::dense_i4;
  if (structure.two_of_four) return KernelChoice::two_of_four_i4;
  return structure.eight_of_sixteen_gap4 ? KernelChoice::eight_of_sixteen_gap4_i4 : KernelChoice::dense_i4;
}

}  // namespace tulle
