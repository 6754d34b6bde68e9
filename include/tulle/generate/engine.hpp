// SPDX-License-Identifier: Apache-2.0
/// \file Generators whose policies are chosen by name when the program runs (L4).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/cache/any_cache.hpp>
#include <tulle/core/half.hpp>
#include <tulle/generate/generator.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle {

inline constexpr std::array<std::string_view, 3> cache_names{"contiguous", "sliding", "paged"};
inline constexpr std::array<std::string_view, 4> cache_dtype_names{"auto", "f32", "f16", "i8"};

/// What an engine is made of.
struct EngineOptions {
  std::string cache = "contiguous";  ///< one of `cache_names`
  std::string cache_dtype = "auto";  ///< f32 for models whose matrices run in float, f16 for quantized ones
  std::size_t sequence_length = 0;   ///< positions a sequence can reach; 0: the model's own, at most 4096
  std::size_t prefill_chunk = 256;   ///< prompt tokens in one forward pass
  std::size_t max_sequences = 16;    ///< at most so many at once; unused ones cost nothing
  std::size_t window = 0;            ///< of the sliding cache; 0: sequence_length
  std::size_t sinks = 4;             ///< first positions that the sliding cache keeps
  std::size_t threads = 0;           ///< 0: one per core that the process may use
  bool pin_threads = false;          ///< helper threads each keep to a core of their own; the caller's stays free
};

/// A `Generator` whose kernel, cache and sampler were chosen when it was made, with its own threads. The functions are
/// those of `Generator`, with the same errors.
class Engine {
 public:
  using Policies = Generator<AnyKernel, AnyCache, SamplerChain>;
  using Emit = std::function<void(const Emission&)>;

  Engine(std::shared_ptr<const Model<AnyKernel>> model, std::size_t threads, ThreadPlacement placement, AnyCache cache,
         std::size_t chunk, std::size_t vocabulary)
      : model_(std::move(model)),
        pool_(threads, placement),
        generator_(model_->architecture(), model_->weights(), pool_, std::move(cache), chunk, vocabulary) {}

  const Architecture& architecture() const noexcept { return model_->architecture(); }
  std::size_t sequences() const noexcept { return generator_.cache().sequences(); }
  std::size_t free_sequences() const noexcept { return generator_.free_sequences(); }
  Position capacity() const noexcept { return generator_.cache().capacity(); }
  std::size_t memory_bytes() const noexcept { return generator_.memory_bytes(); }
  std::size_t cache_bytes() const noexcept { return generator_.cache().size_bytes(); }  ///< the cache's part of it
  SequenceId start(std::span<const Token> prompt, SamplerChain sampler, SequenceOptions options) {
    return generator_.start(prompt, std::move(sampler), std::move(options));
  }
  void resume(SequenceId id, std::span<const Token> tokens, SamplerChain sampler, SequenceOptions options) {
    generator_.resume(id, tokens, std::move(sampler), std::move(options));
  }
  SequenceId fork(SequenceId from) { return generator_.fork(from); }
  void truncate(SequenceId id, std::size_t length) { generator_.truncate(id, length); }
  void stop(SequenceId id) noexcept { generator_.stop(id); }
  void remove(SequenceId id) noexcept { generator_.remove(id); }
  std::span<const Token> history(SequenceId id) const { return generator_.history(id); }
  void save(SequenceId id, std::vector<Token>& tokens, std::vector<std::byte>& state) const {
    generator_.save(id, tokens, state);
  }
  SequenceId restore(std::span<const Token> tokens, std::span<const std::byte> state) {
    return generator_.restore(tokens, state);
  }
  bool running() const noexcept { return generator_.running(); }
  bool step(const Emit& emit, const std::atomic<bool>* cancel = nullptr, const LogitsObserver& observe = {}) {
    return generator_.step(emit, cancel, observe);
  }

 private:
  std::shared_ptr<const Model<AnyKernel>> model_;
  ThreadPool pool_;
  Policies generator_;
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
    return std::make_unique<Engine>(std::move(model), options.threads, placement, std::move(cache), chunk, vocabulary);
  };
  if (options.cache == "paged") {
    // As many blocks as all sequences could need; memory is taken when a block is first written.
    const std::size_t blocks = (options.sequence_length + attention_tile - 1) / attention_tile * options.max_sequences;
    return make(PagedCache<Element>(shape, options.max_sequences, blocks, attention_tile, length));
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

/// An engine for `model` with the cache that the options name. `vocabulary`: ids at or above it are never sampled (0: all are).
/// Errors: invalid_argument for names and sizes that make no sense, memory, unsupported where threads cannot be pinned.
inline std::unique_ptr<Engine> make_engine(std::shared_ptr<const Model<AnyKernel>> model, EngineOptions options,
                                           std::size_t vocabulary = 0) {
  detail::require_name(cache_names, options.cache, "cache");
  detail::require_name(cache_dtype_names, options.cache_dtype, "cache dtype");
  constexpr std::size_t most = std::size_t{1} << 30;
  constexpr std::size_t default_max = 4096;
  if (options.sequence_length == 0)
    options.sequence_length = std::min(model->architecture().context_length, default_max);
  if (options.sequence_length > most || options.window > most || options.sinks > most) {
    fail(ErrorCode::invalid_argument, "sequence length, window and sinks must be at most ", most);
  }
  if (options.prefill_chunk == 0) fail(ErrorCode::invalid_argument, "the prompt sequence length must be at least 1");
  if (options.max_sequences == 0) fail(ErrorCode::invalid_argument, "at least one sequence is needed");
  if (options.cache_dtype == "auto") options.cache_dtype = detail::runs_quantized(*model) ? "f16" : "f32";
  if (options.cache_dtype == "f16") return detail::engine_with<Half>(std::move(model), options, vocabulary);
  if (options.cache_dtype == "i8") return detail::engine_with<std::int8_t>(std::move(model), options, vocabulary);
  return detail::engine_with<float>(std::move(model), options, vocabulary);
}

}  // namespace tulle
