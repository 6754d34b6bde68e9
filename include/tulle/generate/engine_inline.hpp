// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for engine.hpp (L4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/half.hpp>
#include <tulle/generate/engine.hpp>

namespace tulle {

namespace detail {

/// As the model has it for sequences of this length.
inline Architecture for_length(Architecture architecture, std::size_t sequence_length) {
  architecture.set_sequence_length(sequence_length);
  return architecture;
}

template <class Element>
std::unique_ptr<Engine> engine_with(std::shared_ptr<const Model<AnyKernel>> model, const EngineOptions& options,
                                    std::size_t vocabulary, std::shared_ptr<ThreadPool> threads) {
  const CacheShape shape = cache_shape(model->architecture());
  const auto length = static_cast<Position>(options.sequence_length);
  const std::size_t chunk = std::min(options.prefill_chunk, options.sequence_length);
  const auto make = [&](AnyCache cache) {
    return std::make_unique<Engine>(std::move(model), std::move(threads), std::move(cache), length, chunk, vocabulary);
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

TULLE_INLINE Engine::Engine(std::shared_ptr<const Model<AnyKernel>> model, std::shared_ptr<ThreadPool> threads,
                            AnyCache cache, std::size_t sequence_length, std::size_t chunk, std::size_t vocabulary)
    : model_(std::move(model)),
      architecture_(detail::for_length(model_->architecture(), sequence_length)),
      threads_(std::move(threads)),
      generator_(architecture_, model_->weights(), *threads_, std::move(cache), chunk, vocabulary),
      requests_(generator_) {}

TULLE_INLINE Engine::~Engine() = default;

TULLE_INLINE SequenceId Engine::start(std::span<const Token> prompt, SamplerChain sampler, SequenceOptions options) {
  return generator_.start(prompt, std::move(sampler), std::move(options));
}

TULLE_INLINE void Engine::run(SequenceId id, SamplerChain sampler, SequenceOptions options) {
  generator_.run(id, std::move(sampler), std::move(options));
}

TULLE_INLINE StepReport Engine::step(const LogitsObserver& observe) {
  if (speculation_ == nullptr) return requests_.step(observe);
  speculation_->draft(generator_);
  const auto begin = std::chrono::steady_clock::now();
  const StepReport report = requests_.step(observe);
  speculation_->learn(report, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return report;
}

TULLE_INLINE std::string chosen_cache_dtype(const EngineOptions& options, const Model<AnyKernel>& model) {
  if (options.cache_dtype != "auto") return options.cache_dtype;
  bool quantized = false;
  model.weights().for_each_linear([&](const Linear<AnyKernel>& linear) {
    for (const auto& part : linear.parts) quantized = quantized || !part.weights.is_float();
  });
  return quantized ? "f16" : "f32";
}

TULLE_INLINE std::unique_ptr<Engine> make_engine(std::shared_ptr<const Model<AnyKernel>> model, EngineOptions options,
                                                 std::size_t vocabulary, std::shared_ptr<ThreadPool> threads) {
  detail::require_name(cache_names, options.cache, "cache");
  detail::require_name(cache_dtype_names, options.cache_dtype, "cache dtype");
  if (options.share_prefixes && options.cache != "paged") {
    fail(ErrorCode::invalid_argument, "share_prefixes needs the paged cache, not \"", options.cache, "\"");
  }
  constexpr std::size_t most = std::size_t{1} << 30;
  constexpr std::size_t default_max = 4096;
  if (options.sequence_length == 0)
    options.sequence_length = std::min(model->architecture().context_length, default_max);
  if (std::max({options.sequence_length, options.window, options.sinks, options.max_sequences}) > most) {
    fail(ErrorCode::invalid_argument, "sequence length, window, sinks and sequences must be at most ", most);
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
  options.cache_dtype = chosen_cache_dtype(options, *model);
  if (threads == nullptr) {
    const ThreadPlacement placement = options.pin_threads ? ThreadPlacement::own_cores : ThreadPlacement::anywhere;
    threads = std::make_shared<ThreadPool>(options.threads, placement);
  }
  const auto with = [&]<class Element>(Element) {
    return detail::engine_with<Element>(std::move(model), options, vocabulary, std::move(threads));
  };
  if (options.cache_dtype == "f16") return with(Half());
  if (options.cache_dtype == "i8") return with(std::int8_t());
  return with(float());
}

}  // namespace tulle
