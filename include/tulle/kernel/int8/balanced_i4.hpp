// SPDX-License-Identifier: Apache-2.0
/// \file Balanced (N:M) sparse 4-bit weights (L2).
///
/// Half the bytes of the codes, and all of where they stand: 0.44 bytes a weight for 2:4 and 8:16, 0.31 for 4:16, with a
/// scale per 32 columns. (8:16 at any distance would take the 0.56 of dense 4-bit weights.)
#pragma once

#include <tulle/kernel/int8/balanced_panels.hpp>
#include <tulle/kernel/int8/i8_weights.hpp>

namespace tulle {

template <class Pattern, class Isa>
using BasicBalancedI4 = I8Kernel<detail::BalancedPanels<Pattern, 4>, Isa>;

template <class Isa>
using BasicTwoOfFourI4 = BasicBalancedI4<detail::TwoOfFour, Isa>;
template <class Isa>
using BasicFourOfSixteenI4 = BasicBalancedI4<detail::FourOfSixteen, Isa>;
template <class Isa>
using BasicEightOfSixteenGap4I4 = BasicBalancedI4<detail::EightOfSixteenGap4, Isa>;

using TwoOfFourI4 = BasicTwoOfFourI4<isa::Active>;
using FourOfSixteenI4 = BasicFourOfSixteenI4<isa::Active>;
using EightOfSixteenGap4I4 = BasicEightOfSixteenGap4I4<isa::Active>;

static_assert(LinearKernel<TwoOfFourI4> && LinearKernel<FourOfSixteenI4> && LinearKernel<EightOfSixteenGap4I4>);

}  // namespace tulle
