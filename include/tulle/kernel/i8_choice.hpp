// SPDX-License-Identifier: Apache-2.0
/// \file Which layout of int8 or 4-bit weights is the fastest for a matrix on an instruction set (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tulle/kernel/balanced_patterns.hpp>
#include <tulle/kernel/i8_blocks.hpp>
#include <tulle/kernel/i8_rows.hpp>
#include <tulle/kernel/nonzeros.hpp>
#include <tulle/kernel/panel_work.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// What the codes of a matrix allow.
struct I8Structure {
  double nonzero_share = 1;
  bool scale_per_row = false;  ///< and not one for each group of columns
  bool two_of_four = false, four_of_sixteen = false, eight_of_sixteen = false, any_eight_of_sixteen = false;
};

namespace detail {

/// What was seen of a matrix so far.
struct I8Sight {
  std::size_t codes = 0, nonzeros = 0;
  bool two_of_four = true, four_of_sixteen = true, eight_of_sixteen = true, any_eight_of_sixteen = true;

  void look_at(const std::int8_t* block) noexcept {
    const unsigned mask = nonzero_mask_16(block);
    nonzeros += count_set_bits(mask);
    two_of_four = two_of_four && TwoOfFour::fits(mask);
    four_of_sixteen = four_of_sixteen && FourOfSixteen::fits(mask);
    any_eight_of_sixteen = any_eight_of_sixteen && AnyEightOfSixteen::fits(mask);
    eight_of_sixteen = eight_of_sixteen && EightOfSixteen::fits(mask);
  }
  void add(const I8Sight& other) noexcept {
    codes += other.codes;
    nonzeros += other.nonzeros;
    two_of_four = two_of_four && other.two_of_four;
    four_of_sixteen = four_of_sixteen && other.four_of_sixteen;
    any_eight_of_sixteen = any_eight_of_sixteen && other.any_eight_of_sixteen;
    eight_of_sixteen = eight_of_sixteen && other.eight_of_sixteen;
  }
  bool is_balanced() const noexcept { return two_of_four || four_of_sixteen || eight_of_sixteen || any_eight_of_sixteen; }
  double nonzero_share() const noexcept {
    return codes == 0 ? 1 : static_cast<double>(nonzeros) / static_cast<double>(codes);
  }
};

/// Looks at a matrix panel by panel. Not thread-safe: one for each thread.
class I8Probe {
 public:
  I8Probe(const WeightRows& source, I8Rows::Codes of)
      : rows_(source, of), codes_(round_up(source.columns(), block_columns)), scales_(rows_.scales_per_row()) {}

  void look_at_panel(std::size_t panel) noexcept {
    I8Sight sight;  // not a member, so that no two threads write to one cache line all the time
    const std::size_t end = std::min((panel + 1) * panel_rows, rows_.rows());
    for (std::size_t row = panel * panel_rows; row < end; ++row) {
      rows_.read(row, codes_.data(), scales_.data());
      sight.codes += rows_.columns();
      for (std::size_t begin = 0; begin < codes_.size(); begin += block_columns) sight.look_at(&codes_[begin]);
    }
    sight_.add(sight);
  }

  const I8Sight& sight() const noexcept { return sight_; }

 private:
  I8Sight sight_;
  I8Rows rows_;
  std::vector<std::int8_t> codes_;
  std::vector<float> scales_;
};

}  // namespace detail

/// Looks at every code, but gives up after 4 panels with hardly a zero or, of 4-bit codes, which only a pattern helps, without
/// one: pruning leaves no part of a matrix out.
inline I8Structure measure_i8(const WeightRows& source, ThreadPool* pool = nullptr,
                              I8Rows::Codes of = I8Rows::Codes::of_file) {
  constexpr std::size_t first_panels = 4;
  constexpr double dense_share = 0.9;
  const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
  std::vector<detail::I8Probe> probes(detail::panel_parts(pool), detail::I8Probe(source, of));
  for (std::size_t panel = 0; panel < std::min(first_panels, panels); ++panel) probes[0].look_at_panel(panel);
  const detail::I8Sight& first = probes[0].sight();
  if (of == I8Rows::Codes::of_4_bits ? first.is_balanced() : first.nonzero_share() < dense_share) {
    detail::for_each_panel(pool, first_panels, panels,
                           [&](std::size_t part, std::size_t panel) { probes[part].look_at_panel(panel); });
  }
  detail::I8Sight sight;
  for (const detail::I8Probe& probe : probes) sight.add(probe.sight());
  return {sight.nonzero_share(), I8Rows(source, of).group() == 0, sight.two_of_four,
          sight.four_of_sixteen, sight.eight_of_sixteen,      sight.any_eight_of_sixteen};
}

/// The layout that decodes fastest, never one that loses to dense weights (measured by bench/kernels.cpp). Processors of Intel
/// carry out fewer byte shuffles in the time that memory takes, so that windowed ELL wins only with fewer weights.
constexpr KernelChoice fastest_i8(const I8Structure& structure, InstructionSet set, bool intel) noexcept {
  if (set == InstructionSet::scalar) return KernelChoice::dense_i8;
  if (structure.four_of_sixteen) return KernelChoice::four_of_sixteen_i8;
  // On vectors of 128 bits the sums that 2-bit fields need cost more than the bytes they save.
  if (set == InstructionSet::simd128) {
    return structure.any_eight_of_sixteen ? KernelChoice::any_eight_of_sixteen_i8 : KernelChoice::dense_i8;
  }
  if (set == InstructionSet::avx512) {
    // With fewer weights left than a pattern keeps, the others only cost.
    if (structure.nonzero_share > 0.4) {
      if (structure.two_of_four) return KernelChoice::two_of_four_i8;
      if (structure.eight_of_sixteen) return KernelChoice::eight_of_sixteen_i8;
    }
    // From 80 % zeros windowed ELL wins in prefill, from 90 % in decode too, where it may be a fifth behind at 80 % (Intel).
    if (structure.scale_per_row && structure.nonzero_share <= (intel ? 0.15 : 0.22)) return KernelChoice::well_i8;
    return structure.nonzero_share <= 0.55 ? KernelChoice::bitmask_i8 : KernelChoice::dense_i8;
  }
  // With few weights left, hardly more than a pattern asks for are stored where none is kept to.
  if (structure.scale_per_row && structure.nonzero_share <= (intel ? 0.22 : 0.32)) return KernelChoice::well_i8;
  if (structure.two_of_four) return KernelChoice::two_of_four_i8;
  if (structure.eight_of_sixteen) return KernelChoice::eight_of_sixteen_i8;
  if (structure.any_eight_of_sixteen) return KernelChoice::any_eight_of_sixteen_i8;
  // Without vpexpandb a bitmask takes more instructions than the bytes it saves are worth.
  // AVX-VNNI multiplies the dense weights of a prompt at twice the speed: there half the zeros would cost more than they gain.
  const double most_nonzeros = set == InstructionSet::avx_vnni && intel ? 0.36 : 0.52;
  return structure.scale_per_row && structure.nonzero_share <= most_nonzeros ? KernelChoice::well_i8 : KernelChoice::dense_i8;
}

/// The same for codes of 4 bits with a scale per 32 columns.
inline I8Structure measure_i4(const WeightRows& source, ThreadPool* pool = nullptr) {
  return measure_i8(source, pool, I8Rows::Codes::of_4_bits);
}

constexpr KernelChoice fastest_i4(const I8Structure& structure, InstructionSet set) noexcept {
  if (set == InstructionSet::scalar) return KernelChoice::dense_i4;
  if (structure.four_of_sixteen) return KernelChoice::four_of_sixteen_i4;
  if (set == InstructionSet::simd128) return KernelChoice::dense_i4;
  if (structure.two_of_four) return KernelChoice::two_of_four_i4;
  return structure.eight_of_sixteen ? KernelChoice::eight_of_sixteen_i4 : KernelChoice::dense_i4;
}

}  // namespace tulle
