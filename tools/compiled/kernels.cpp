// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

namespace tulle {

template struct detail::EllKernel<isa::Active, false>;
template struct detail::EllKernel<isa::Active, true>;
template struct I8Kernel<detail::DenseBlocks, isa::Active>;
template struct I8Kernel<detail::BitmaskBlocks, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::TwoOfFour, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::FourOfSixteen, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::EightOfSixteen, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::EightOfSixteenGap4, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::TwoOfFour, 4>, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::FourOfSixteen, 4>, isa::Active>;
template struct I8Kernel<detail::BalancedBlocks<detail::EightOfSixteenGap4, 4>, isa::Active>;
template struct BasicDenseI4<isa::Active>;
template struct BasicDenseF32<isa::Active>;
template struct BasicDenseF16<isa::Active>;

}  // namespace tulle
