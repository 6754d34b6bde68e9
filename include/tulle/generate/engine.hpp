// SPDX-License-Identifier: Apache-2.0
/// \file Generators whose policies are chosen by name when the program runs (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/cache/any_cache.hpp>
#include <tulle/core/half.hpp>
#include <tulle/generate/engine_options.hpp>
#include <tulle/generate/generator.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/generate/requests.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle {

/// A generator whose kernel, cache and sampler were chosen when it was made, its threads, and the requests that run on
/// it.
/// Threads: one call at a time; `cancel` flags may be set from any thread.
class Engine {
 public:
  using Policies = Generator<AnyKernel, AnyCache, SamplerChain>;

  /// `sequence_length`: of the longest sequence.
  Engine(std::shared_ptr<const Model<AnyKernel>> model, std::size_t threads, ThreadPlacement placement, AnyCache cache,
         std::size_t sequence_length, std::size_t chunk, std::size_t vocabulary)
      : model_(std::move(model)),
        architecture_(for_length(model_->architecture(), sequence_length)),
        pool_(threads, placement),
        generator_(architecture_, model_->weights(), pool_, std::move(cache), chunk, vocabulary),
        requests_(generator_) {}

  const Architecture& architecture() const noexcept { return architecture_; }
  Sequences<AnyCache>& sequences() noexcept { return generator_.sequences(); }
  Requests<Policies>& requests() noexcept { return requests_; }
  Position capacity() const noexcept { return generator_.cache().capacity(); }
  std::size_t memory_bytes() const noexcept { return generator_.memory_bytes(); }
  std::size_t cache_bytes() const noexcept { return generator_.cache().size_bytes(); }  ///< the cache's part of it

  /// As of `Generator`: for sequences without a completion.
  SequenceId start(std::span<const Token> prompt, SamplerChain sampler, SequenceOptions options) {
    return generator_.start(prompt, std::move(sampler), std::move(options));
  }
  void run(SequenceId id, SamplerChain sampler, SequenceOptions options) {
    generator_.run(id, std::move(sampler), std::move(options));
  }

  bool running() const noexcept { return requests_.running(); }
  /// One forward pass over all that runs; see `Requests::step`.
  StepReport step(const LogitsObserver& observe = {}) { return requests_.step(observe); }

 private:
  static Architecture for_length(Architecture architecture, std::size_t sequence_length) {
    architecture.set_sequence_length(sequence_length);
    return architecture;
  }

  std::shared_ptr<const Model<AnyKernel>> model_;
  Architecture architecture_;
  ThreadPool pool_;
  Policies generator_;
  Requests<Policies> requests_;
};

namespace detail {

template <class Names>
void require_name(const Names& names, std::string_view name, std::string_view what) {
  std::string known;
  for (const std::string_view each : names) {
    if (each == name) return;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  fail(ErrorCode::invalid_argument, "unknown ", what, " \"", name, "\"; known are ", known);
}

/// True when any layer's matrix runs on quantized activations.
inline bool runs_quantized(const Model<AnyKernel>& model) {
  bool quantized = false;
  model.weights().for_each_linear([&](const Linear<AnyKernel>& linear) {
    for (const auto& part : linear.parts) quantized = quantized || !part.weights.is_float();
  });
  return quantized;
}

template <class Element>
std::unique_ptr<Engine> engine_with(std::shared_ptr<const Model<AnyKernel>> model, const EngineOptions& options,
                                    std::size_t vocabulary) {
  const CacheShape shape = cache_shape(model->architecture());
  const auto length = static_cast<Position>(options.sequence_length);
  const std::size_t chunk = std::min(options.prefill_chunk, options.sequence_length);
  const ThreadPlacement placement = options.pin_threads ? ThreadPlacement::own_cores : ThreadPlacement::anywhere;
  const auto make = [&](AnyCache cache) {
    return std::make_unique<Engine>(std::move(model), options.threads, placement, std::move(cache), length, chunk,
                                    vocabulary);
  };
  if (options.cache == "paged") {
    // Memory is taken when a block is first written.
    const auto blocks_of = [](std::size_t positions) { return (positions + attention_tile - 1) / attention_tile; };
    const std::size_t one = blocks_of(options.sequence_length), all = one * options.max_sequences;
    const std::size_t blocks =
        options.cache_positions == 0 ? all : std::clamp(blocks_of(options.cache_positions), one, all);
    return make(
        PagedCache<Element>(shape, options.max_sequences, blocks, attention_tile, length, options.share_prefixes));
  }
  if (options.cache == "sliding") {
    const std::size_t window = options.window == 0 ? options.sequence_length : options.window;
    return make(SlidingCache<Element>(shape, options.max_sequences, static_cast<Position>(window),
                                      static_cast<Position>(options.sinks),
                                      static_cast<Position>(std::max<std::size_t>(chunk, 1))));
  }
  return make(ContiguousCache<Element>(shape, options.max_sequences, length));
}

}  // namespace detail

/// An engine for `model` with the cache that the options name. `vocabulary`: ids at or above it are never sampled (0:
/// all are).
/// Errors: invalid_argument for names and sizes that make no sense, memory, unsupported where threads cannot be pinned.
inline std::unique_ptr<Engine> make_engine(std::shared_ptr<const Model<AnyKernel>> model, EngineOptions options,
                                           std::size_t vocabulary = 0) {
  detail::require_name(cache_names, options.cache, "cache");
  detail::require_name(cache_dtype_names, options.cache_dtype, "cache dtype");
  if (options.share_prefixes && options.cache != "paged") {
    fail(ErrorCode::invalid_argument, "share_prefixes needs the paged cache, not \"", options.cache, "\"");
  }
  constexpr std::size_t most = std::size_t{1} << 30;
  constexpr std::size_t default_max = 4096;
  if (options.sequence_length == 0)
    options.sequence_length = std::min(model->architecture().context_length, default_max);
  if (options.sequence_length > most || options.window > most || options.sinks > most) {
    fail(ErrorCode::invalid_argument, "sequence length, window and sinks must be at most ", most);
  }
  const Architecture& architecture = model->architecture();
  if (const std::size_t rows = architecture.learned_positions; rows != 0) {
    const std::size_t positions = rows - architecture.first_position;
    if (options.sequence_length > positions || options.cache == "sliding") {
      fail(ErrorCode::invalid_argument, "this model has learned ", positions,
           " positions: no sequence is longer, and the sliding cache, which goes on without end, does not fit it");
    }
  }
  if (options.prefill_chunk == 0) fail(ErrorCode::invalid_argument, "the prompt sequence length must be at least 1");
  if (options.max_sequences == 0) fail(ErrorCode::invalid_argument, "at least one sequence is needed");
  if (options.cache_dtype == "auto") options.cache_dtype = detail::runs_quantized(*model) ? "f16" : "f32";
  if (options.cache_dtype == "f16") return detail::engine_with<Half>(std::move(model), options, vocabulary);
  if (options.cache_dtype == "i8") return detail::engine_with<std::int8_t>(std::move(model), options, vocabulary);
  return detail::engine_with<float>(std::move(model), options, vocabulary);
}

}  // namespace tulle

#ifdef TULLE_COMPILED
#include <tulle/generate/compiled.hpp>
#endif
