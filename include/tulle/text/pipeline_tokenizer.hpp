// SPDX-License-Identifier: Apache-2.0
/// \file The tokenizer as a pipeline: added tokens, normalizer, pre-tokenizer, encoder, decoder (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/added_tokens.hpp>
#include <tulle/text/byte_pair_encoder.hpp>
#include <tulle/text/normalizer.hpp>
#include <tulle/text/pre_tokenizer.hpp>
#include <tulle/text/token_decoder.hpp>
#include <tulle/text/tokenizer.hpp>
#include <tulle/text/unigram_encoder.hpp>
#include <tulle/text/utf8.hpp>
#include <tulle/text/vocabulary.hpp>

namespace tulle {

/// The parts of a pipeline.
struct Pipeline {
  Vocabulary vocabulary;  ///< of the model
  std::vector<AddedToken> added_tokens;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::variant<BytePairEncoder, UnigramEncoder> encoder;
  TokenDecoder decoder;
  std::vector<Token> prefix = {}, suffix = {};  ///< tokens that `add_special_tokens` adds around a text
  std::optional<Token> bos = {}, eos = {};
  std::optional<Token> unknown = {};  ///< a token that is decoded as `unknown_surface`
  std::string unknown_surface = {};
  bool added_as_written = false;  ///< normalized added tokens are searched as written, not in normalized form
};

/// Encodes in the order of Hugging Face `tokenizers`: raw added tokens are found in the text; each gap is normalized;
/// normalized added tokens are found in it; each gap is cut into words; each word is encoded.
class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(Pipeline pipeline)
      : pipeline_(std::move(pipeline)), found_(as_found(pipeline_)), raw_(those(false)), normalized_(those(true)) {
    size_ = pipeline_.vocabulary.size();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const AddedToken& token = pipeline_.added_tokens[i];
      added_by_id_.try_emplace(token.id, &found_[i]);
      added_by_content_.try_emplace(token.content, token.id);
      size_ = std::max(size_, static_cast<std::size_t>(token.id) + 1);
    }
  }

  std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const override {
    std::string repaired;
    if (!pipeline_.normalizer.repairs() && !is_valid_utf8(text)) text = repaired = repair_utf8(text);
    std::vector<Token> tokens;
    if (options.add_special_tokens) tokens = pipeline_.prefix;
    Regex::Scratch regex;
    BytePairEncoder::Scratch pairs;
    UnigramEncoder::Scratch paths;
    const auto encode_word = [&](std::string_view word) {
      if (word.size() > BytePairEncoder::longest_word)
        fail(ErrorCode::capacity, "a word of the prompt has 4 GiB or more");
      if (const auto* unigram = std::get_if<UnigramEncoder>(&pipeline_.encoder)) {
        unigram->encode(word, paths, tokens);
      } else {
        std::get<BytePairEncoder>(pipeline_.encoder).encode(pipeline_.vocabulary, word, pairs, tokens);
      }
    };
    raw_.split(text, options.parse_special_tokens, [&](std::string_view part, const AddedToken* token) {
      if (token != nullptr) {
        tokens.push_back(token->id);
        return;
      }
      const std::string clean = pipeline_.normalizer.apply(std::string(part), regex);
      normalized_.split(clean, options.parse_special_tokens, [&](std::string_view gap, const AddedToken* inner) {
        if (inner != nullptr) {
          tokens.push_back(inner->id);
          return;
        }
        const bool at_start = part.data() == text.data() && gap.data() == clean.data();
        pipeline_.pre_tokenizer.split(gap, at_start, regex, encode_word);
      });
    });
    if (options.add_special_tokens) tokens.insert(tokens.end(), pipeline_.suffix.begin(), pipeline_.suffix.end());
    return tokens;
  }

  std::string piece(Token token) const override {
    const std::string_view content = content_of(token);
    return content.empty() ? std::string() : pipeline_.decoder.piece(content);
  }

  void append(Token token, DecodeState& state, std::string& bytes) const override {
    const std::string_view content = content_of(token);
    if (!content.empty()) pipeline_.decoder.append(content, state, bytes);
  }

  std::optional<Token> find(std::string_view content) const override {
    const auto added = added_by_content_.find(content);
    return added != added_by_content_.end() ? std::optional(added->second) : pipeline_.vocabulary.find(content);
  }

  bool is_special(Token token) const override {
    const auto added = added_by_id_.find(token);
    return added != added_by_id_.end() && added->second->special;
  }

  std::size_t vocabulary_size() const override { return size_; }
  std::optional<Token> bos_token() const override { return pipeline_.bos; }
  std::optional<Token> eos_token() const override { return pipeline_.eos; }
  Repair repair() const override { return pipeline_.decoder.repair(); }

 private:
  /// The added tokens as they stand in a text, and are decoded: normalized ones in normalized form, unless the pipeline says
  /// that they already have it.
  static std::vector<AddedToken> as_found(const Pipeline& pipeline) {
    std::vector<AddedToken> tokens = pipeline.added_tokens;
    Regex::Scratch scratch;
    for (AddedToken& token : tokens) {
      if (token.normalized && !pipeline.added_as_written) {
        token.content = pipeline.normalizer.apply(std::move(token.content), scratch);
      }
    }
    return tokens;
  }

  /// The tokens to search in raw text, or in normalized text.
  std::vector<AddedToken> those(bool normalized) const {
    std::vector<AddedToken> chosen;
    for (const AddedToken& token : found_) {
      if (token.normalized == normalized) chosen.push_back(token);
    }
    return chosen;
  }

  std::string_view content_of(Token token) const {
    if (token == pipeline_.unknown) return pipeline_.unknown_surface;
    const auto added = added_by_id_.find(token);
    return added != added_by_id_.end() ? std::string_view(added->second->content) : pipeline_.vocabulary.content(token);
  }

  Pipeline pipeline_;
  std::vector<AddedToken> found_;
  AddedTokenMatcher raw_, normalized_;
  std::unordered_map<Token, const AddedToken*> added_by_id_;
  std::unordered_map<std::string_view, Token> added_by_content_;
  std::size_t size_ = 0;
};

}  // namespace tulle
