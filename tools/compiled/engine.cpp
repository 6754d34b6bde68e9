// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/engine_inline.hpp>

namespace tulle {

template class Decoder<AnyKernel, AnyCache>;
template class Sequences<AnyCache>;
template class Generator<AnyKernel, AnyCache, SamplerChain>;
template class Requests<Engine::Policies>;

}  // namespace tulle
