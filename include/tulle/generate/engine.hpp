// SPDX-License-Identifier: Apache-2.0
/// \file Generators whose policies are chosen by name when the program runs (L4).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/cache/any_cache.hpp>
#include <tulle/core/error.hpp>
#include <tulle/generate/engine_options.hpp>
#include <tulle/generate/generator.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/generate/requests.hpp>
#include <tulle/generate/speculation.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle {

/// A generator whose kernel, cache and sampler were chosen when it was made, its threads, and the requests that run on
/// it.
/// Threads: one call at a time; `cancel` flags may be set from any thread.
class Engine {
 public:
  using Policies = Generator<AnyKernel, AnyCache, SamplerChain>;

  /// `sequence_length`: of the longest sequence. `threads` may be those of another engine that never runs meanwhile.
  Engine(std::shared_ptr<const Model<AnyKernel>> model, std::shared_ptr<ThreadPool> threads, AnyCache cache,
         std::size_t sequence_length, std::size_t chunk, std::size_t vocabulary);
  ~Engine();

  const Architecture& architecture() const noexcept { return architecture_; }
  const std::shared_ptr<ThreadPool>& threads() const noexcept { return threads_; }
  std::size_t vocabulary() const noexcept { return generator_.vocabulary(); }  ///< ids below it are sampled
  std::size_t chunk() const noexcept { return generator_.chunk(); }
  Sequences<AnyCache>& sequences() noexcept { return generator_.sequences(); }
  Requests<Policies>& requests() noexcept { return requests_; }
  Position capacity() const noexcept { return generator_.cache().capacity(); }
  std::size_t memory_bytes() const noexcept { return generator_.memory_bytes(); }
  std::size_t cache_bytes() const noexcept { return generator_.cache().size_bytes(); }  ///< the cache's part of it

  /// As of `Generator`: for sequences without a completion.
  SequenceId start(std::span<const Token> prompt, SamplerChain sampler, SequenceOptions options);
  void run(SequenceId id, SamplerChain sampler, SequenceOptions options);

  bool running() const noexcept { return requests_.running(); }
  /// One forward pass over all that runs; see `Requests::step`.
  StepReport step(const LogitsObserver& observe = {});

  /// Drafts before every step from now on (null: no longer). Returns what did so before.
  std::unique_ptr<Speculation<Policies>> speculate(std::unique_ptr<Speculation<Policies>> speculation) noexcept {
    return std::exchange(speculation_, std::move(speculation));
  }
  const Speculation<Policies>* speculation() const noexcept { return speculation_.get(); }

 private:
  std::shared_ptr<const Model<AnyKernel>> model_;
  Architecture architecture_;
  std::shared_ptr<ThreadPool> threads_;
  Policies generator_;
  Requests<Policies> requests_;
  std::unique_ptr<Speculation<Policies>> speculation_;
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

}  // namespace detail

/// `options.cache_dtype`, where that is not "auto": f16 where any matrix runs on quantized activations, else f32.
std::string chosen_cache_dtype(const EngineOptions& options, const Model<AnyKernel>& model);

/// An engine for `model` with the cache that the options name. `vocabulary`: ids at or above it are never sampled (0:
/// all are). `threads`: those of another engine, which never runs meanwhile, in place of its own.
/// Errors: invalid_argument for names and sizes that make no sense, memory, unsupported where threads cannot be pinned.
std::unique_ptr<Engine> make_engine(std::shared_ptr<const Model<AnyKernel>> model, EngineOptions options,
                                    std::size_t vocabulary = 0, std::shared_ptr<ThreadPool> threads = nullptr);

}  // namespace tulle

#ifdef TULLE_COMPILED
#include <tulle/generate/compiled.hpp>
#else
#include <tulle/generate/engine_inline.hpp>
#endif
