// SPDX-License-Identifier: Apache-2.0
/// \file The kernels that the library tulle::compiled holds; any_kernel.hpp includes it where that is linked (L2).
#pragma once

#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

extern template struct detail::EllKernel<isa::Active, false>;
extern template struct detail::EllKernel<isa::Active, true>;
extern template struct I8Kernel<detail::DensePanels, isa::Active>;
extern template struct I8Kernel<detail::BitmaskPanels, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::TwoOfFour, 8>, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::FourOfSixteen, 8>, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteen, 8>, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteenGap4, 8>, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::TwoOfFour, 4>, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::FourOfSixteen, 4>, isa::Active>;
extern template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteenGap4, 4>, isa::Active>;
extern template struct BasicDenseI4<isa::Active>;
extern template struct BasicDenseF32<isa::Active>;
extern template struct BasicDenseF16<isa::Active>;

}  // namespace tulle
