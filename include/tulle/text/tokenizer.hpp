// SPDX-License-Identifier: Apache-2.0
/// \file The tokenizer interface: text to token ids and back (L2).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/text/token_decoder.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

struct EncodeOptions {
  bool add_special_tokens = false;   ///< add the tokens of the tokenizer's template around a text (<s> and the like)
  bool parse_special_tokens = true;  ///< "<|endoftext|>" in the text is the token; false: it is text like any other
};

/// Lifetime: readers such as `TokenStream` keep a reference.
/// Threads:  immutable after construction; shared freely between threads.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// Bytes that are not UTF-8 are handled like U+FFFD: one for each maximal subpart (see `decode_utf8`), or one for
  /// each byte where the tokenizer is sentencepiece's.
  /// Errors: capacity for a single word of 4 GiB or more; none otherwise.
  virtual std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const = 0;

  /// The bytes of a token inside a text: possibly a part of a code point. Empty for an id outside the vocabulary
  /// (padding rows of a model).
  virtual std::string piece(Token token) const = 0;

  /// Appends the bytes that `token` adds to a text; `state` describes the text so far. An id outside the vocabulary
  /// adds nothing.
  virtual void append(Token token, DecodeState& state, std::string& bytes) const = 0;

  /// The id of an added token or an entry of the vocabulary, written as the vocabulary writes it.
  virtual std::optional<Token> find(std::string_view content) const = 0;

  virtual bool is_special(Token token) const = 0;

  /// The largest id + 1.
  virtual std::size_t vocabulary_size() const = 0;

  virtual std::optional<Token> bos_token() const = 0;
  virtual std::optional<Token> eos_token() const = 0;

  /// How `decode` replaces bytes that are not UTF-8.
  virtual Repair repair() const { return Repair::per_subpart; }

  /// The text of the tokens: always valid UTF-8, with U+FFFD where their bytes are not.
  std::string decode(std::span<const Token> tokens, bool skip_special_tokens = false) const {
    DecodeState state;
    std::string bytes;
    for (const Token token : tokens) {
      if (!skip_special_tokens || !is_special(token)) append(token, state, bytes);
    }
    return repair_utf8(bytes, repair());
  }
};

}  // namespace tulle
