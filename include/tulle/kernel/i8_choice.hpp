// SPDX-License-Identifier: Apache-2.0
/// \file Which layout of int8 or 4-bit weights is the fastest for a matrix on an instruction set (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tulle/kernel/balanced_panels.hpp>
#include <tulle/kernel/i8_weights.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// What the codes of a matrix allow.
struct I8Structure {
  double nonzero_share = 1;
  bool scale_per_row = false;  ///< and not one for each group of columns
  bool two_of_four = false, four_of_sixteen = false, eight_of_sixteen = false, any_eight_of_sixteen = false;

  bool is_balanced() const noexcept { return two_of_four || four_of_sixteen || eight_of_sixteen || any_eight_of_sixteen; }
};

/// Looks at every code, but gives up after 4 panels with hardly a zero or, where only a pattern helps, without one: pruning
/// leaves no part of a matrix out.
inline I8Structure measure_i8(const WeightRows& source, I8Rows::Codes of = I8Rows::Codes::of_file) {
  constexpr std::size_t first_codes_panels = 4;
  constexpr double dense_share = 0.9;
  I8Rows rows(source, of);
  I8Structure structure{0, rows.group() == 0, true, true, true, true};
  std::size_t panels = 0, codes_seen = 0, nonzeros = 0;
  const auto keep = [](bool& flag, bool fits) { flag = flag && fits; };
  detail::for_each_i8_panel(rows, [&](const std::vector<std::int8_t>& codes, const std::vector<float>&) {
    const std::size_t real_rows = std::min(panel_rows, rows.rows() - panels * panel_rows);
    nonzeros += codes.size() - static_cast<std::size_t>(std::count(codes.begin(), codes.end(), std::int8_t{0}));
    codes_seen += real_rows * rows.columns();
    for (std::size_t at = 0; at < codes.size(); at += detail::block_codes) {
      const std::int8_t* block = &codes[at];
      if (structure.two_of_four) keep(structure.two_of_four, detail::BalancedPanels<detail::TwoOfFour, 8>::fits(block));
      if (structure.four_of_sixteen) {
        keep(structure.four_of_sixteen, detail::BalancedPanels<detail::FourOfSixteen, 8>::fits(block));
      }
      if (structure.eight_of_sixteen) {
        keep(structure.eight_of_sixteen, detail::BalancedPanels<detail::EightOfSixteen, 8>::fits(block));
      }
      if (structure.any_eight_of_sixteen) {
        keep(structure.any_eight_of_sixteen, detail::BalancedPanels<detail::AnyEightOfSixteen, 8>::fits(block));
      }
    }
    const bool is_sparse = of == I8Rows::Codes::of_4_bits
                               ? structure.is_balanced()
                               : static_cast<double>(nonzeros) < dense_share * static_cast<double>(codes_seen);
    return ++panels != first_codes_panels || is_sparse;
  });
  structure.nonzero_share = codes_seen == 0 ? 1 : static_cast<double>(nonzeros) / static_cast<double>(codes_seen);
  return structure;
}

/// The layout that decodes fastest, never one that loses to dense weights (measured by bench/kernels.cpp).
constexpr KernelChoice fastest_i8(const I8Structure& structure, InstructionSet set) noexcept {
  if (set == InstructionSet::scalar) return KernelChoice::dense_i8;
  if (structure.four_of_sixteen) return KernelChoice::four_of_sixteen_i8;
  // On vectors of 128 bits the sums that 2-bit fields need cost more than the bytes they save.
  if (set == InstructionSet::simd128) {
    return structure.any_eight_of_sixteen ? KernelChoice::any_eight_of_sixteen_i8 : KernelChoice::dense_i8;
  }
  if (set == InstructionSet::avx512) {
    // At 8:16 the bitmask decodes a tenth slower, but its prefill is that of dense weights and not 0.7 of it.
    if (structure.two_of_four && structure.nonzero_share > 0.4) return KernelChoice::two_of_four_i8;
    // From 80 % zeros windowed ELL wins in prefill, from 90 % in decode too.
    if (structure.scale_per_row && structure.nonzero_share <= 0.22) return KernelChoice::well_i8;
    return structure.nonzero_share <= 0.55 ? KernelChoice::bitmask_i8 : KernelChoice::dense_i8;
  }
  // With few weights left, hardly more than a pattern asks for are stored where none is kept to.
  if (structure.scale_per_row && structure.nonzero_share <= 0.32) return KernelChoice::well_i8;
  if (structure.two_of_four) return KernelChoice::two_of_four_i8;
  if (structure.eight_of_sixteen) return KernelChoice::eight_of_sixteen_i8;
  if (structure.any_eight_of_sixteen) return KernelChoice::any_eight_of_sixteen_i8;
  // Without vpexpandb a bitmask takes more instructions than the bytes it saves are worth.
  return structure.scale_per_row && structure.nonzero_share <= 0.52 ? KernelChoice::well_i8 : KernelChoice::dense_i8;
}

/// The same for codes of 4 bits with a scale per 32 columns.
inline I8Structure measure_i4(const WeightRows& source) { return measure_i8(source, I8Rows::Codes::of_4_bits); }

constexpr KernelChoice fastest_i4(const I8Structure& structure, InstructionSet set) noexcept {
  if (set == InstructionSet::scalar) return KernelChoice::dense_i4;
  if (structure.four_of_sixteen) return KernelChoice::four_of_sixteen_i4;
  if (set == InstructionSet::simd128) return KernelChoice::dense_i4;
  if (structure.two_of_four) return KernelChoice::two_of_four_i4;
  return structure.eight_of_sixteen ? KernelChoice::eight_of_sixteen_i4 : KernelChoice::dense_i4;
}

}  // namespace tulle
