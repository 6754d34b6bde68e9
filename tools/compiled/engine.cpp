// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/engine.hpp>

namespace tulle {

template class Decoder<AnyKernel, AnyCache>;
template class Generator<AnyKernel, AnyCache, SamplerChain>;
template bool Engine::Policies::step(const Engine::Emit&, const std::atomic<bool>*, const LogitsObserver&);

}  // namespace tulle
