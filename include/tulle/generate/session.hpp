// SPDX-License-Identifier: Apache-2.0
/// \file A conversation whose history and cache live on between calls (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/generate/engine.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/text_stream.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

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
  std::span<const Token> history() const { return id_ ? engine_->sequences().history(*id_) : std::span<const Token>(); }

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
  GeneratedText append(std::vector<Token> tokens, const GenerationOptions& options = {}) {
    const bool first = !id_;
    try {
      TextStream stream = start(std::move(tokens), options);
      while (stream.next()) {
      }
      return std::move(stream.results().front());
    } catch (...) {
      if (first) clear();
      throw;
    }
  }

  /// Appends tokens; the stream generates as its pieces are read. Errors: those of `TextStream`; a first call that fails
  /// leaves the session empty. Lifetime: the session must outlive the stream, and be left alone until that is gone.
  TextStream start(std::vector<Token> tokens, const GenerationOptions& options = {}) {
    const bool first = !id_;
    if (first) id_ = engine_->sequences().open();
    try {
      return TextStream(*engine_, *tokenizer_, *id_, tokens, options);
    } catch (...) {
      if (first) clear();
      throw;
    }
  }

  /// Makes the history equal `tokens` and generates: what both begin with stays in the cache (a chat that is rendered anew
  /// at every turn).
  GeneratedText continue_from(std::span<const Token> tokens, const GenerationOptions& options = {}) {
    const auto known = history();
    const auto common = static_cast<std::size_t>(
        std::mismatch(known.begin(), known.end(), tokens.begin(), tokens.end()).first - known.begin());
    if (common == 0) clear();
    if (id_) engine_->sequences().truncate(*id_, common);
    return append({tokens.begin() + static_cast<std::ptrdiff_t>(common), tokens.end()}, options);
  }

  /// Forgets all but the first `length` tokens; 0 forgets everything.
  void truncate(std::size_t length) {
    if (length == 0) return clear();
    if (id_) engine_->sequences().truncate(*id_, length);
  }

  void clear() noexcept {
    if (id_) engine_->sequences().release(*id_);
    id_.reset();
  }

  /// Tokens and cache as bytes: u64 count, tokens as i32, the cache's own state. They fit the same model and cache only.
  std::vector<std::byte> save() const {
    std::vector<Token> tokens;
    std::vector<std::byte> state;
    if (id_) engine_->sequences().save(*id_, tokens, state);
    const std::uint64_t count = tokens.size();
    std::vector<std::byte> bytes(sizeof count + tokens.size() * sizeof(Token));
    std::memcpy(bytes.data(), &count, sizeof count);
    if (count != 0) std::memcpy(bytes.data() + sizeof count, tokens.data(), tokens.size() * sizeof(Token));
    bytes.insert(bytes.end(), state.begin(), state.end());
    return bytes;
  }

  /// Replaces this session by a saved one. Errors: malformed, which leaves the session empty.
  void restore(std::span<const std::byte> bytes) {
    clear();
    std::uint64_t count = 0;
    if (bytes.size() < sizeof count) fail(ErrorCode::malformed, "the saved session is cut off");
    std::memcpy(&count, bytes.data(), sizeof count);
    bytes = bytes.subspan(sizeof count);
    if (count > bytes.size() / sizeof(Token)) fail(ErrorCode::malformed, "the saved session is cut off");
    if (count == 0) return;
    std::vector<Token> tokens(static_cast<std::size_t>(count));
    const std::size_t token_bytes = tokens.size() * sizeof(Token);
    std::memcpy(tokens.data(), bytes.data(), token_bytes);
    id_ = engine_->sequences().restore(tokens, bytes.subspan(token_bytes));
  }

 private:
  Engine* engine_;
  const Tokenizer* tokenizer_;
  std::optional<SequenceId> id_;
};

}  // namespace tulle
