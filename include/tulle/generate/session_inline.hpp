// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for session.hpp (L4).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/session.hpp>

namespace tulle {

TULLE_INLINE std::span<const Token> Session::history() const {
  return id_ ? engine_->sequences().history(*id_) : std::span<const Token>();
}

TULLE_INLINE GeneratedText Session::append(std::vector<Token> tokens, const GenerationOptions& options) {
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

TULLE_INLINE TextStream Session::start(std::vector<Token> tokens, const GenerationOptions& options) {
  const bool first = !id_;
  if (first) id_ = engine_->sequences().open();
  try {
    return TextStream(*engine_, *tokenizer_, *id_, tokens, options);
  } catch (...) {
    if (first) clear();
    throw;
  }
}

TULLE_INLINE GeneratedText Session::continue_from(std::span<const Token> tokens, const GenerationOptions& options) {
  const auto known = history();
  const auto common = static_cast<std::size_t>(
      std::mismatch(known.begin(), known.end(), tokens.begin(), tokens.end()).first - known.begin());
  if (common == 0) clear();
  if (id_) engine_->sequences().truncate(*id_, common);
  return append({tokens.begin() + static_cast<std::ptrdiff_t>(common), tokens.end()}, options);
}

TULLE_INLINE void Session::truncate(std::size_t length) {
  if (length == 0) return clear();
  if (id_) engine_->sequences().truncate(*id_, length);
}

TULLE_INLINE void Session::clear() noexcept {
  if (id_) engine_->sequences().release(*id_);
  id_.reset();
}

TULLE_INLINE std::vector<std::byte> Session::save() const {
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

TULLE_INLINE void Session::restore(std::span<const std::byte> bytes) {
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

}  // namespace tulle
