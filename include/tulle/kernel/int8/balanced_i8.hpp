// SPDX-License-Identifier: Apache-2.0
/// \file Balanced (N:M) sparse int8 weights (L2).
#pragma once

#include <tulle/kernel/int8/balanced_panels.hpp>
#include <tulle/kernel/int8/i8_weights.hpp>

namespace tulle {

template <class Pattern, class Isa>
using BasicBalancedI8 = I8Kernel<detail::BalancedPanels<Pattern, 8>, Isa>;

template <class Isa>
using BasicTwoOfFourI8 = BasicBalancedI8<detail::TwoOfFour, Isa>;
template <class Isa>
using BasicFourOfSixteenI8 = BasicBalancedI8<detail::FourOfSixteen, Isa>;
template <class Isa>
using BasicEightOfSixteenI8 = BasicBalancedI8<detail::EightOfSixteen, Isa>;
template <class Isa>
using BasicEightOfSixteenGap4I8 = BasicBalancedI8<detail::EightOfSixteenGap4, Isa>;

using TwoOfFourI8 = BasicTwoOfFourI8<isa::Active>;
using FourOfSixteenI8 = BasicFourOfSixteenI8<isa::Active>;
using EightOfSixteenI8 = BasicEightOfSixteenI8<isa::Active>;
using EightOfSixteenGap4I8 = BasicEightOfSixteenGap4I8<isa::Active>;

static_assert(LinearKernel<TwoOfFourI8> && LinearKernel<FourOfSixteenI8> && LinearKernel<EightOfSixteenI8> &&
              LinearKernel<EightOfSixteenGap4I8>);

}  // namespace tulle
