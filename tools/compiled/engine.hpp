// SPDX-License-Identifier: Apache-2.0
/// \file The engine of the run-time front ends, compiled once for all programs of this repository: its kernels, caches
/// and decoder take a compiler most of its time. Link `tulle_compiled`.
#pragma once

#include <tulle/generate/engine.hpp>

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
extern template class Model<AnyKernel>;
extern template class Decoder<AnyKernel, AnyCache>;
extern template class Generator<AnyKernel, AnyCache, SamplerChain>;
extern template bool Engine::Policies::step(const Engine::Emit&, const std::atomic<bool>*, const LogitsObserver&);

}  // namespace tulle
