// SPDX-License-Identifier: Apache-2.0
/// \file A conversation whose history and cache live on between calls (L4).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/text_stream.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

class Engine;

/// One sequence of an engine. Every call continues the history, so only what is new goes through the model.
/// Lifetime: engine and tokenizer must outlive it. Threads: one call at a time on an engine.
class Session {
 public:
  Session(Engine& engine, const Tokenizer& tokenizer) : engine_(&engine), tokenizer_(&tokenizer) {}
  Session(Session&& other) noexcept
      : engine_(other.engine_), tokenizer_(other.tokenizer_), id_(std::exchange(other.id_, std::nullopt)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(engine_, other.engine_);
    std::swap(tokenizer_, other.tokenizer_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~Session() { clear(); }

  /// Everything so far, prompts and answers.
  std::span<const Token> history() const;

  /// Appends text and generates. Special tokens are added at the very beginning only.
  GeneratedText generate(std::string_view text, const GenerationOptions& options = {}) {
    return append(encode(text, options), options);
  }

  /// The tokens that appending this text appends.
  std::vector<Token> encode(std::string_view text, const GenerationOptions& options = {}) const {
    const bool first = history().empty();
    return tokenizer_->encode(text, {.add_special_tokens = first && options.add_special_tokens});
  }

  /// Appends tokens and generates. A first call that fails leaves the session empty.
  GeneratedText append(std::vector<Token> tokens, const GenerationOptions& options = {});

  /// Appends tokens; the stream generates as its pieces are read. Errors: those of `TextStream`; a first call that
  /// fails leaves the session empty. Lifetime: the session must outlive the stream, and be left alone until that is
  /// gone.
  TextStream start(std::vector<Token> tokens, const GenerationOptions& options = {});

  /// Makes the history equal `tokens` and generates: what both begin with stays in the cache (a chat that is rendered
  /// anew at every turn).
  GeneratedText continue_from(std::span<const Token> tokens, const GenerationOptions& options = {});

  /// Forgets all but the first `length` tokens; 0 forgets everything.
  void truncate(std::size_t length);

  void clear() noexcept;

  /// Tokens and cache as bytes: u64 count, tokens as i32, the cache's own state. They fit the same model and cache
  /// only.
  std::vector<std::byte> save() const;

  /// Replaces this session by a saved one. Errors: malformed, or capacity where the cache is full now; the session is then
  /// empty.
  void restore(std::span<const std::byte> bytes);

 private:
  Engine* engine_;
  const Tokenizer* tokenizer_;
  std::optional<SequenceId> id_;
};

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/generate/session_inline.hpp>
#endif
