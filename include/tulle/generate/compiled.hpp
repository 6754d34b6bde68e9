// SPDX-License-Identifier: Apache-2.0
/// \file The engine that the library tulle::compiled holds; engine.hpp includes it where that is linked (L4).
#pragma once

#include <tulle/generate/engine.hpp>

namespace tulle {

extern template class Model<AnyKernel>;
extern template class Decoder<AnyKernel, AnyCache>;
extern template class Sequences<AnyCache>;
extern template class Generator<AnyKernel, AnyCache, SamplerChain>;
extern template class Requests<Engine::Policies>;

}  // namespace tulle
