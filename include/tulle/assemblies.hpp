// SPDX-License-Identifier: Apache-2.0
/// \file Named policy sets: the combinations of kernel, cache and sampler that are worth a name (L6).
#pragma once

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/core/half.hpp>
#include <tulle/generate/generator.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/sampling/greedy.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle::assemblies {

/// Everything in f32, the most probable token: what other implementations are compared with.
using Reference = Generator<DenseF32, ContiguousCache<float>, Greedy>;

/// Each matrix in the form that keeps its file's values; one or a few texts at a time.
using Text = Generator<AnyKernel, ContiguousCache<Half>, SamplerChain>;

/// Many sequences that share prefixes: a server, several continuations of one prompt.
using Shared = Generator<AnyKernel, PagedCache<Half>, SamplerChain>;

/// Text without end in bounded memory: the first tokens and a window over the last.
using Endless = Generator<AnyKernel, SlidingCache<Half>, SamplerChain>;

/// The least memory per token of context.
using Compact = Generator<AnyKernel, PagedCache<std::int8_t>, SamplerChain>;

}  // namespace tulle::assemblies
