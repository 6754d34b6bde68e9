// SPDX-License-Identifier: Apache-2.0
// concept: Sampler
// A sampler that cannot hand out its distribution does not go into a chain.
#include <tulle/sampling/static_chain.hpp>

struct First {
  tulle::Token sample(std::span<float>, const tulle::SamplingContext&) const noexcept { return 0; }
#ifndef TULLE_BAD
  void distribution(std::span<float>, const tulle::SamplingContext&) const noexcept {}
#endif
};

tulle::Chain<tulle::Temperature, First> chain{tulle::Temperature(0.5f), First()};
