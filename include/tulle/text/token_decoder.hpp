// SPDX-License-Identifier: Apache-2.0
/// \file From the content of tokens back to the bytes of text (L2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/text/byte_level.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

/// The state of decoding a text, on which the next token depends.
struct DecodeState {
  std::size_t tokens = 0;    ///< decoded so far, without skipped and unknown ones
  std::size_t stripped = 0;  ///< characters stripped from the beginning of the text
  bool has_text = false;     ///< text that is not stripped was decoded
};

/// A content all of whose characters are in the byte alphabet becomes those bytes; any other stays.
struct ByteLevelDecode {};
/// <0xNN> becomes that byte.
struct ByteFallbackDecode {};
/// `old`, which is not empty, becomes `content`; with `drops_in_first`, in the first token of a text it becomes
/// nothing.
struct ReplaceDecode {
  std::string old;
  std::string content;
  bool drops_in_first = false;
};
/// Strips up to `begin` and `end` times the character `content` from the ends of every token.
struct StripDecode {
  char content = ' ';
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Removed from the beginning of the first token, or of every token until there is text.
struct PrefixDecode {
  std::string content;
  bool repeats = false;
};

using TokenDecoderStep = std::variant<ByteLevelDecode, ByteFallbackDecode, ReplaceDecode, StripDecode>;

/// tokenizer.json's "decoder" as a per-token function and a strip at the beginning of the text, so that it can stream.
/// It makes bytes; what is not UTF-8 in their concatenation becomes U+FFFD later (`repair_utf8`). In a run of byte
/// tokens the complete characters are kept; `tokenizers` drops the whole run. Threads: immutable.
class TokenDecoder {
 public:
  TokenDecoder() = default;

  /// `separator` stands between two tokens; `text_strip` works once, on the beginning of the text (its `end` must be
  /// 0), and `text_prefix` there on the contents.
  TokenDecoder(std::vector<TokenDecoderStep> steps, std::string separator, std::optional<StripDecode> text_strip,
               std::optional<PrefixDecode> text_prefix = {})
      : steps_(std::move(steps)),
        separator_(std::move(separator)),
        text_strip_(text_strip),
        text_prefix_(std::move(text_prefix)) {}

  Repair repair() const noexcept {
    for (const TokenDecoderStep& step : steps_) {
      if (std::holds_alternative<ByteFallbackDecode>(step)) return Repair::per_byte;
    }
    return Repair::per_subpart;
  }

  /// The bytes of a token inside a text.
  std::string piece(std::string_view content) const { return bytes_of(content, false); }

  /// Appends what the next token of a text adds to it.
  void append(std::string_view content, DecodeState& state, std::string& bytes) const {
    if (text_prefix_ && !state.has_text && (state.stripped == 0 || text_prefix_->repeats) &&
        content.starts_with(text_prefix_->content)) {
      content.remove_prefix(text_prefix_->content.size());
      ++state.stripped;
    }
    std::string piece = bytes_of(content, state.tokens == 0);
    if (state.tokens > 0) piece.insert(0, separator_);
    ++state.tokens;
    std::size_t begin = 0;
    if (text_strip_ && !state.has_text) {
      while (begin < piece.size() && piece[begin] == text_strip_->content && state.stripped < text_strip_->begin) {
        ++begin;
        ++state.stripped;
      }
    }
    if (begin < piece.size()) state.has_text = true;
    bytes.append(piece, begin);
  }

 private:
  std::string bytes_of(std::string_view content, bool is_first) const {
    std::string bytes(content);
    for (const TokenDecoderStep& step : steps_) {
      if (std::holds_alternative<ByteLevelDecode>(step)) {
        if (std::optional<std::string> mapped = from_byte_level(bytes)) bytes = std::move(*mapped);
      } else if (std::holds_alternative<ByteFallbackDecode>(step)) {
        if (const std::optional<char> byte = byte_of(bytes)) bytes.assign(1, *byte);
      } else if (const auto* replace = std::get_if<ReplaceDecode>(&step)) {
        replace_all(bytes, replace->old, is_first && replace->drops_in_first ? std::string_view() : replace->content);
      } else {
        strip_ends(bytes, std::get<StripDecode>(step));
      }
    }
    return bytes;
  }

  static std::optional<char> byte_of(std::string_view content) {
    if (content.size() != 6 || !content.starts_with("<0x") || content[5] != '>') return std::nullopt;
    int value = 0;
    for (const char digit : content.substr(3, 2)) {
      const int lower = digit | 0x20;
      const bool is_letter = lower >= 'a' && lower <= 'f';
      if (!is_letter && (digit < '0' || digit > '9')) return std::nullopt;
      value = value * 16 + (is_letter ? lower - 'a' + 10 : digit - '0');
    }
    return static_cast<char>(value);
  }

  static void replace_all(std::string& text, std::string_view old, std::string_view content) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + content.size())) {
      text.replace(at, old.size(), content);
    }
  }

  static void strip_ends(std::string& text, const StripDecode& strip) {
    std::size_t begin = 0;
    while (begin < strip.begin && begin < text.size() && text[begin] == strip.content) ++begin;
    std::size_t end = 0;
    while (end < strip.end && end < text.size() - begin && text[text.size() - 1 - end] == strip.content) ++end;
    text = text.substr(begin, text.size() - begin - end);
  }

  std::vector<TokenDecoderStep> steps_;
  std::string separator_;
  std::optional<StripDecode> text_strip_;
  std::optional<PrefixDecode> text_prefix_;
};

}  // namespace tulle
