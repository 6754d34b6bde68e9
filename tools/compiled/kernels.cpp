// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

namespace tulle {

template struct detail::WellKernel<isa::Active, false>;
template struct detail::WellKernel<isa::Active, true>;
template struct I8Kernel<detail::DensePanels, isa::Active>;
template struct I8Kernel<detail::BitmaskPanels, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::TwoOfFour>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::FourOfSixteen>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::AnyEightOfSixteen>, isa::Active>;
template struct I8Kernel<detail::BalancedPanels<detail::EightOfSixteen>, isa::Active>;
template struct BasicDenseI4<isa::Active>;
template struct BasicDenseF32<isa::Active>;
template struct BasicDenseF16<isa::Active>;

}  // namespace tulle
