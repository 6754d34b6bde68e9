// SPDX-License-Identifier: Apache-2.0
/// \file The engine of the run-time front ends, compiled once for all programs of this repository: its kernels, caches and
/// decoder take a compiler most of its time. Link `tulle_compiled`.
#pragma once

#include <tulle/generate/engine.hpp>

#include "kernels.hpp"

namespace tulle {

extern template class Model<AnyKernel>;
extern template class Decoder<AnyKernel, AnyCache>;
extern template class Generator<AnyKernel, AnyCache, SamplerChain>;
extern template bool Engine::Policies::step(const Engine::Emit&, const std::atomic<bool>*, const LogitsObserver&);

}  // namespace tulle
