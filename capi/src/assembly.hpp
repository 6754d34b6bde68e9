// SPDX-License-Identifier: Apache-2.0
/// \file The policies of an engine by name: "auto/paged_i8/greedy".
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <tulle/generate/engine.hpp>
#include <tulle/sampling/sampling_options.hpp>

namespace tulle::capi {

struct Assembly {
  std::string kernel = "auto";
  std::string cache = "contiguous";
  std::string sampler;  ///< empty: greedy, or a draw where the options have settings of chance
};

/// "paged" and "paged_i8": every layout by itself (its element then follows the kernel) and with every element.
std::span<const std::string> cache_choices();

/// Greedy first, then the orders of transforms that end in a draw.
inline constexpr std::array<std::string_view, 3> sampler_choices{"greedy", "hugging_face", "llama_cpp"};

/// KERNEL[/CACHE[/SAMPLER]]; what is left out or empty is the default.
/// Errors: invalid_argument, with the names that exist.
Assembly parse_assembly(std::string_view name);

/// Errors: invalid_argument for a name that is not in `cache_choices`.
void choose_cache(std::string_view name, EngineOptions& options);

/// Errors: invalid_argument for a name that is not in `sampler_choices`.
void choose_sampler(std::string_view name, SamplingOptions& options);

}  // namespace tulle::capi
