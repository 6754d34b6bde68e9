// SPDX-License-Identifier: Apache-2.0
/// \file The kernels of balanced (N:M) sparse weights, with codes of 8 or 4 bits (L2).
#pragma once

#include <cstddef>

#include <tulle/kernel/int8/balanced_blocks.hpp>
#include <tulle/kernel/int8/i8_weights.hpp>

namespace tulle {

template <class Pattern, std::size_t CodeBits, class Isa>
using BasicBalanced = I8Kernel<detail::BalancedBlocks<Pattern, CodeBits>, Isa>;

template <class Isa>
using BasicTwoOfFourI8 = BasicBalanced<detail::TwoOfFour, 8, Isa>;
template <class Isa>
using BasicFourOfSixteenI8 = BasicBalanced<detail::FourOfSixteen, 8, Isa>;
template <class Isa>
using BasicEightOfSixteenI8 = BasicBalanced<detail::EightOfSixteen, 8, Isa>;
template <class Isa>
using BasicEightOfSixteenGap4I8 = BasicBalanced<detail::EightOfSixteenGap4, 8, Isa>;

// A scale per 32 columns. (There is no `8:16_i4`: it would take the 0.56 bytes a weight of dense 4-bit weights.)
template <class Isa>
using BasicTwoOfFourI4 = BasicBalanced<detail::TwoOfFour, 4, Isa>;
template <class Isa>
using BasicFourOfSixteenI4 = BasicBalanced<detail::FourOfSixteen, 4, Isa>;
template <class Isa>
using BasicEightOfSixteenGap4I4 = BasicBalanced<detail::EightOfSixteenGap4, 4, Isa>;

using TwoOfFourI8 = BasicTwoOfFourI8<isa::Active>;
using FourOfSixteenI8 = BasicFourOfSixteenI8<isa::Active>;
using EightOfSixteenI8 = BasicEightOfSixteenI8<isa::Active>;
using EightOfSixteenGap4I8 = BasicEightOfSixteenGap4I8<isa::Active>;
using TwoOfFourI4 = BasicTwoOfFourI4<isa::Active>;
using FourOfSixteenI4 = BasicFourOfSixteenI4<isa::Active>;
using EightOfSixteenGap4I4 = BasicEightOfSixteenGap4I4<isa::Active>;

static_assert(LinearKernel<TwoOfFourI8> && LinearKernel<FourOfSixteenI8> && LinearKernel<EightOfSixteenI8> &&
              LinearKernel<EightOfSixteenGap4I8>);
static_assert(LinearKernel<TwoOfFourI4> && LinearKernel<FourOfSixteenI4> && LinearKernel<EightOfSixteenGap4I4>);

}  // namespace tulle
