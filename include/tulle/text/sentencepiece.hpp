// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers from .model files by the sentencepiece library; the only include of it, for programs that link it (L2).
#pragma once

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/added_tokens.hpp>
#include <tulle/text/sentencepiece_check.hpp>
#include <tulle/text/sentencepiece_options.hpp>
#include <tulle/text/sentencepiece_vocabulary.hpp>
#include <tulle/text/tokenizer.hpp>

namespace sentencepiece::logging {
// NOLINTNEXTLINE(readability-identifier-naming): of the library's common.h, which is not installed
void SetMinLogLevel(int level);
}  // namespace sentencepiece::logging

namespace tulle {

/// The library's own encoding of what stands between control pieces and added tokens. Bytes that are not UTF-8 are left
/// to the library, which makes one U+FFFD of each.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// Errors: malformed when the bytes are not a model; `where` names the file.
  SentencePieceTokenizer(std::string_view model_bytes, const SentencePieceOptions& options, std::string_view where)
      : matcher_({}) {
    constexpr int errors_only = 2;  // otherwise it prints a note for a model without a character map, such as Llama's
    sentencepiece::logging::SetMinLogLevel(errors_only);
    if (!detail::has_sound_character_maps(model_bytes) ||
        !processor_.LoadFromSerializedProto(std::string(model_bytes)).ok()) {
      fail(ErrorCode::malformed, where, ": not a sentencepiece model; is the file complete?");
    }
    size_ = static_cast<std::size_t>(processor_.GetPieceSize());
    std::vector<AddedToken> added;  // the model's own first
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      if (!processor_.IsControl(id)) continue;
      AddedToken token;
      token.content = processor_.IdToPiece(id);
      token.id = id;
      token.special = true;
      added.push_back(std::move(token));
    }
    std::copy_if(options.added_tokens.begin(), options.added_tokens.end(), std::back_inserter(added),
                 [this](const AddedToken& token) {
                   return !is_piece(token.id) || (!processor_.IsControl(token.id) && !processor_.IsUnknown(token.id));
                 });
    for (const AddedToken& token : added) {
      if (token.id < 0)
        fail(ErrorCode::malformed, where, ": added token \"", token.content, "\" has the id ", token.id);
      if (!added_.try_emplace(token.id, token).second) continue;
      size_ = std::max(size_, static_cast<std::size_t>(token.id) + 1);
    }
    matcher_ = AddedTokenMatcher(std::move(added));
    bos_ = options.bos ? find(*options.bos) : std::nullopt;
    if (!bos_) bos_ = known(processor_.bos_id());
    eos_ = options.eos ? find(*options.eos) : std::nullopt;
    if (!eos_) eos_ = known(processor_.eos_id());
    if (const auto bos = bos_token(); bos && options.add_bos) prefix_.push_back(*bos);
    if (const auto eos = eos_token(); eos && options.add_eos) suffix_.push_back(*eos);
    read_space_rules(model_bytes);
  }

  std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const override {
    std::vector<Token> tokens;
    if (options.add_special_tokens) tokens = prefix_;
    matcher_.split(text, options.parse_special_tokens, [&](std::string_view part, const AddedToken* token) {
      if (token != nullptr) {
        tokens.push_back(token->id);
        return;
      }
      std::vector<int> ids;
      const auto status = processor_.Encode(std::string(part), &ids);
      if (!status.ok()) fail(ErrorCode::capacity, "sentencepiece: ", std::string(status.error_message()));
      tokens.insert(tokens.end(), ids.begin(), ids.end());
    });
    if (options.add_special_tokens) tokens.insert(tokens.end(), suffix_.begin(), suffix_.end());
    return tokens;
  }

  std::string piece(Token token) const override {
    if (const auto added = added_.find(token); added != added_.end()) return added->second.content;
    if (!is_piece(token)) return {};
    if (processor_.IsUnknown(token)) return unknown_surface_;
    const std::string& content = processor_.IdToPiece(token);
    if (processor_.IsByte(token))
      return std::string(1, static_cast<char>(std::stoi(content.substr(3, 2), nullptr, 16)));
    std::string text;
    for (std::size_t at = 0; at < content.size();) {
      const bool is_space = content.compare(at, SpaceRules::symbol.size(), SpaceRules::symbol) == 0;
      text += is_space ? ' ' : content[at];
      at += is_space ? SpaceRules::symbol.size() : 1;
    }
    return text;
  }

  void append(Token token, DecodeState& state, std::string& bytes) const override {
    std::string text = piece(token);
    // The encoder's own leading space is removed: from the first piece, and where spaces were squeezed, from every
    // piece until there is text.
    const bool is_normal = is_piece(token) && !added_.contains(token) && !processor_.IsByte(token);
    const bool is_at_begin = !state.has_text && (state.stripped == 0 || squeezes_spaces_);
    if (strips_space_ && is_normal && is_at_begin && !processor_.IsUnknown(token) &&
        processor_.IdToPiece(token).starts_with(SpaceRules::symbol)) {
      text.erase(0, 1);
      ++state.stripped;
    }
    ++state.tokens;
    if (!text.empty()) state.has_text = true;
    bytes += text;
  }

  std::optional<Token> find(std::string_view content) const override {
    for (const auto& [id, token] : added_) {
      if (token.content == content) return id;
    }
    const int id = processor_.PieceToId(std::string(content));
    return processor_.IdToPiece(id) == content ? std::optional<Token>(id) : std::nullopt;
  }

  bool is_special(Token token) const override {
    const auto added = added_.find(token);
    return added != added_.end() && added->second.special;
  }

  std::size_t vocabulary_size() const override { return size_; }
  std::optional<Token> bos_token() const override { return bos_; }
  std::optional<Token> eos_token() const override { return eos_; }
  Repair repair() const override { return Repair::per_byte; }

 private:
  static std::optional<Token> known(int id) { return id < 0 ? std::nullopt : std::optional<Token>(id); }

  bool is_piece(Token token) const { return token >= 0 && token < processor_.GetPieceSize(); }

  /// The rules of the model's normalizer are not in the library's interface.
  void read_space_rules(std::string_view model_bytes) {
    VocabularySpec spec;
    (void)detail::read_sentencepiece_rules(model_bytes, spec);
    strips_space_ = spec.spaces.adds_one || spec.spaces.squeezes;
    squeezes_spaces_ = spec.spaces.squeezes;
    unknown_surface_ = spec.unknown_surface.value_or("");
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::unordered_map<Token, AddedToken> added_;
  AddedTokenMatcher matcher_;
  std::optional<Token> bos_, eos_;
  std::vector<Token> prefix_, suffix_;
  std::string unknown_surface_;
  bool strips_space_ = false;
  bool squeezes_spaces_ = false;
  std::size_t size_ = 0;
};

inline std::unique_ptr<Tokenizer> tokenizer_from_sentencepiece(std::string_view model_bytes,
                                                               const SentencePieceOptions& options = {},
                                                               std::string_view where = "the sentencepiece model") {
  return std::make_unique<SentencePieceTokenizer>(model_bytes, options, where);
}

/// Reads .model files by the library: `load_tokenizer<SentencePieceLibrary>(path)`. It also reads models of whole words
/// and of characters, which our own reader refuses.
struct SentencePieceLibrary {
  static std::shared_ptr<const Tokenizer> read(std::string_view model_bytes, const SentencePieceOptions& options,
                                               std::string_view where) {
    return tokenizer_from_sentencepiece(model_bytes, options, where);
  }
};

}  // namespace tulle
