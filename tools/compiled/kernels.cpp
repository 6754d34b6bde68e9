// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

template struct detail::EllKernel<isa::Active, false>;
template struct detail::EllKernel<isa::Active, true>;
template struct I8Kernel<detail::DensePanels, isa::Active>;
template struct I8Kernel<detail::BitmaskPanels, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::TwoOfFour, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::FourOfSixteen, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteen, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteenGap4, 8>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::TwoOfFour, 4>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::FourOfSixteen, 4>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteenGap4, 4>, isa::Active>;
template struct BasicDenseI4<isa::Active>;
template struct BasicDenseF32<isa::Active>;
template struct BasicDenseF16<isa::Active>;

}  // namespace tulle
