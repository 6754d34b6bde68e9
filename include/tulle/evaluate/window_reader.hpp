// SPDX-License-Identifier: Apache-2.0
/// \file Reads tokens with an engine and shows the logits that follow them (L5).
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/generate/engine.hpp>

namespace tulle {

/// A sequence of an engine that is read and not generated. The logits are those of any other chunking and batch.
/// Lifetime: the engine must outlive it. Threads: one at a time; nothing else may run on the engine meanwhile.
class WindowReader {
 public:
  /// A set `cancel` ends reading. Errors: capacity when all sequences of the engine are in use.
  explicit WindowReader(Engine& engine, const std::atomic<bool>* cancel = nullptr)
      : engine_(engine), cancel_(cancel), id_(engine.sequences().open()) {}
  ~WindowReader() { engine_.sequences().release(id_); }
  WindowReader(const WindowReader&) = delete;
  WindowReader& operator=(const WindowReader&) = delete;

  std::size_t length() const { return engine_.sequences().history(id_).size(); }

  /// Forgets all but the first `length` tokens.
  void truncate(std::size_t length) { engine_.sequences().truncate(id_, length); }

  /// Reads more tokens, without logits. Errors: invalid_argument for a token outside the vocabulary, capacity for more
  /// tokens than the engine's sequence length, cancelled.
  void skip(std::span<const Token> tokens) { run(tokens, false, {}); }

  /// Reads more tokens and calls `visit(index, logits)` with what follows each of them, in order. `logits` [vocabulary]
  /// are valid during the call, which must not throw. Errors: those of `skip`.
  template <class Visit>
  void read(std::span<const Token> tokens, Visit&& visit) {
    const std::size_t before = length();
    run(tokens, true, [&](SequenceId id, Position position, std::span<const float> logits) {
      if (id == id_) visit(static_cast<std::size_t>(position) - before, logits);
    });
  }

 private:
  void run(std::span<const Token> tokens, bool logits, const LogitsObserver& observe) {
    if (tokens.empty()) return;
    const std::size_t before = length();
    engine_.sequences().append(id_, tokens);
    SequenceOptions options;
    options.max_new_tokens = 0;
    options.prompt_logits = logits;
    options.prompt_from = static_cast<Position>(before);
    options.cancel = cancel_;
    engine_.run(id_, SamplerChain(), options);
    FinishReason reason = FinishReason::none;
    while (engine_.sequences().is_running(id_)) {
      for (const Emission& emission : engine_.step(observe).emissions) {
        if (emission.sequence == id_) reason = emission.finish;
      }
    }
    if (reason == FinishReason::cancelled) fail(ErrorCode::cancelled, "stopped by the caller");
    if (reason != FinishReason::length) {
      fail(ErrorCode::capacity, "the cache has no room for ", length(), " tokens; ask for a larger sequence length");
    }
  }

  Engine& engine_;
  const std::atomic<bool>* cancel_;
  SequenceId id_;
};

}  // namespace tulle
