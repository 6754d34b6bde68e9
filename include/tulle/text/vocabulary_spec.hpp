// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers from plain lists of tokens, as GGUF files and sentencepiece models hold them (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/heap_sort.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/named_pre_tokenizers.hpp>
#include <tulle/text/pipeline_tokenizer.hpp>

namespace tulle {

/// The content of the keys `tokenizer.ggml.*` of a GGUF file, or of a sentencepiece model.
struct VocabularySpec {
  enum Flag : std::uint8_t { lstrip = 1, rstrip = 2, single_word = 4 };  // of `AddedToken`
  enum Type : int { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  std::vector<std::string> tokens;       ///< by id; in the byte alphabet for "gpt2", with U+2581 for spaces for "llama"
  std::vector<int> types;                ///< one per token, or none: all normal
  std::vector<float> scores;             ///< one per token; needed for "llama" and "unigram"
  std::vector<std::string> merges;       ///< "left right", in order; needed for "gpt2"
  std::string model = "gpt2";            ///< "gpt2": byte-level BPE; "llama", "unigram": sentencepiece's
  std::string pre = "default";           ///< names the pre-tokenizer of "gpt2"
  std::vector<std::uint8_t> flags = {};  ///< by id, as far as any token has one
  std::optional<Token> bos = {}, eos = {}, unk = {};
  bool add_bos = false;  ///< with `add_special_tokens`
  bool add_eos = false;
  bool is_sentencepiece = false;        ///< as the library does: user-defined tokens are found in normalized text
  std::size_t model_tokens = SIZE_MAX;  ///< ids from here on were added to the model: found in the text as it is
  SpaceRules spaces = {};               ///< of "llama" and "unigram", as the character map is
  std::string character_map = {};       ///< as a sentencepiece model holds it; empty: no rules
  std::optional<std::string> unknown_surface = {};  ///< the text of `unk` when decoded; default: its content
  std::string where = "the vocabulary";             ///< names the source in messages
};

namespace detail {

inline void add_flags(VocabularySpec& spec, std::size_t id, unsigned flags) {
  if (flags == 0) return;
  spec.flags.resize(std::max(spec.flags.size(), id + 1));
  spec.flags[id] |= static_cast<std::uint8_t>(flags);
}

inline void add_flags(VocabularySpec& spec, const AddedToken& token) {
  add_flags(spec, static_cast<std::size_t>(token.id),
            (token.lstrip ? VocabularySpec::lstrip : 0u) | (token.rstrip ? VocabularySpec::rstrip : 0u) |
                (token.single_word ? VocabularySpec::single_word : 0u));
}

inline int type_of(const VocabularySpec& spec, std::size_t id) {
  return spec.types.empty() ? VocabularySpec::normal : spec.types[id];
}

/// True when sentencepiece searches for the token after normalization.
inline bool is_normalized(const VocabularySpec& spec, std::size_t id) {
  return spec.is_sentencepiece && type_of(spec, id) == VocabularySpec::user_defined && id < spec.model_tokens;
}

/// Control and user-defined tokens are found in the text, except user-defined ones that a unigram model has among its
/// pieces.
inline std::vector<AddedToken> added_tokens_of(const VocabularySpec& spec) {
  std::vector<AddedToken> added;
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const int type = type_of(spec, id);
    if (type != VocabularySpec::control && type != VocabularySpec::user_defined) continue;
    if (spec.tokens[id].empty() || !is_valid_utf8(spec.tokens[id])) continue;
    if (spec.model == "unigram" && is_normalized(spec, id)) continue;
    AddedToken token;
    token.content = spec.tokens[id];
    token.id = static_cast<Token>(id);
    token.special = type == VocabularySpec::control;
    token.normalized = is_normalized(spec, id);
    const unsigned flags = id < spec.flags.size() ? spec.flags[id] : 0;
    token.lstrip = (flags & VocabularySpec::lstrip) != 0;
    token.rstrip = (flags & VocabularySpec::rstrip) != 0;
    token.single_word = (flags & VocabularySpec::single_word) != 0;
    added.push_back(std::move(token));
  }
  return added;
}

/// Each "left right", cut at the first space that is not the first byte; the rank is the place in the list.
inline std::vector<BytePairEncoder::Merge> split_merges(const std::vector<std::string>& lines, std::string_view where) {
  std::vector<BytePairEncoder::Merge> merges;
  merges.reserve(lines.size());
  for (const std::string& line : lines) {
    const auto rank = static_cast<std::uint32_t>(merges.size());
    const std::size_t space = line.find(' ', 1);
    if (space == std::string::npos || space + 1 == line.size()) {
      fail(ErrorCode::malformed, where, ": merge ", rank, " (\"", line, "\") is not two tokens");
    }
    merges.push_back({line.substr(0, space), line.substr(space + 1), rank});
  }
  return merges;
}

/// The content of a token. Errors: malformed for one that would make encoding slow; real ones have up to some 100
/// bytes.
inline std::string_view checked_piece(const VocabularySpec& spec, std::size_t id) {
  constexpr std::size_t longest = 1024;
  const std::string_view piece = spec.tokens[id];
  if (piece.size() <= longest) return piece;
  fail(ErrorCode::malformed, spec.where, ": token ", id, " has ", piece.size(), " bytes; at most ", longest,
       " make sense");
}

/// Sentencepiece merges the adjacent pair whose concatenation is the piece of highest score, leftmost first. That is a
/// merge for every way to cut a piece in two pieces, and the rank of its score: equal scores share a rank.
inline std::vector<BytePairEncoder::Merge> merges_by_score(const VocabularySpec& spec, const Vocabulary& vocabulary) {
  std::vector<float> scores = spec.scores;
  heap_sort(scores, std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<BytePairEncoder::Merge> merges;
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    if (type_of(spec, id) != VocabularySpec::normal) continue;
    const std::string_view piece = checked_piece(spec, id);
    const auto place = std::lower_bound(scores.begin(), scores.end(), spec.scores[id], std::greater<>());
    const auto rank = static_cast<std::uint32_t>(place - scores.begin());
    for (std::size_t cut = 1; cut < piece.size(); ++cut) {
      const std::string_view left = piece.substr(0, cut), right = piece.substr(cut);
      if (vocabulary.find(left) && vocabulary.find(right))
        merges.push_back({std::string(left), std::string(right), rank});
    }
  }
  return merges;
}

inline void check(const VocabularySpec& spec) {
  const std::size_t size = spec.tokens.size();
  if (size == 0 || size > Vocabulary::largest_size) {
    fail(ErrorCode::malformed, spec.where, ": a vocabulary of ", size, " tokens");
  }
  if (!spec.types.empty() && spec.types.size() != size) {
    fail(ErrorCode::malformed, spec.where, ": ", spec.types.size(), " token types for ", size, " tokens");
  }
  if (spec.model != "gpt2" && spec.scores.size() != size) {
    fail(ErrorCode::malformed, spec.where, ": ", spec.scores.size(), " scores for ", size, " tokens");
  }
  if (std::any_of(spec.scores.begin(), spec.scores.end(), [](float score) { return std::isnan(score); })) {
    fail(ErrorCode::malformed, spec.where, ": a score is not a number");
  }
  for (const std::optional<Token>& token : {spec.bos, spec.eos, spec.unk}) {
    if (token && (*token < 0 || static_cast<std::size_t>(*token) >= size)) {
      fail(ErrorCode::malformed, spec.where, ": the special token ", *token, " is outside a vocabulary of ", size);
    }
  }
}

/// Unused ids ("[PAD7]") have no text and are never found. A unigram model never chooses them, but can decode them. Of
/// equal tokens the first is used.
inline Vocabulary vocabulary_of(const VocabularySpec& spec) {
  std::vector<std::pair<std::string, Token>> entries;
  entries.reserve(spec.tokens.size());
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const bool is_used = type_of(spec, id) != VocabularySpec::unused || spec.model == "unigram";
    entries.emplace_back(is_used ? spec.tokens[id] : std::string(), static_cast<Token>(id));
  }
  return Vocabulary(entries, spec.where);
}

/// Byte-level BPE behind a pre-tokenizer.
inline Pipeline byte_level_pipeline(Vocabulary vocabulary, const std::vector<BytePairEncoder::Merge>& merges,
                                    std::vector<AddedToken> added, const NamedPreTokenizer& named,
                                    std::string_view where) {
  std::vector<NormalizerStep> normalizer;
  if (named.composes) normalizer.emplace_back(ComposeStep{});
  std::vector<PreTokenizerStep> steps;
  for (const std::string_view pattern : named.patterns) steps.emplace_back(SplitStep{Regex(pattern, where)});
  steps.emplace_back(ByteLevelStep{});
  BytePairOptions options;
  options.ignore_merges = named.ignore_merges;
  BytePairEncoder encoder(vocabulary, merges, options, where);
  return {std::move(vocabulary),          std::move(added),   Normalizer(std::move(normalizer)),
          PreTokenizer(std::move(steps)), std::move(encoder), TokenDecoder({ByteLevelDecode{}}, "", {})};
}

/// The tokens that a unigram model chooses from.
inline std::vector<UnigramEncoder::Piece> unigram_pieces(const VocabularySpec& spec) {
  std::vector<UnigramEncoder::Piece> pieces;
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const bool is_user_defined = is_normalized(spec, id);
    if (!is_user_defined && type_of(spec, id) != VocabularySpec::normal) continue;
    pieces.push_back({checked_piece(spec, id), static_cast<Token>(id), spec.scores[id], is_user_defined});
  }
  return pieces;
}

inline SentencePieceNormalizer normalizer_of(const VocabularySpec& spec) {
  std::vector<std::pair<std::string_view, std::uint32_t>> user_defined;
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    if (is_normalized(spec, id)) user_defined.emplace_back(checked_piece(spec, id), static_cast<std::uint32_t>(id));
  }
  return {spec.spaces, CharacterMap(spec.character_map, spec.where), ByteTrie(std::move(user_defined))};
}

inline Pipeline scored_pipeline(const VocabularySpec& spec) {
  BytePairOptions options;
  options.byte_fallback =
      spec.types.empty() || std::count(spec.types.begin(), spec.types.end(), VocabularySpec::byte) > 0;
  options.fuse_unknown = true;
  options.unknown = spec.unk;
  Vocabulary vocabulary = vocabulary_of(spec);
  std::variant<BytePairEncoder, UnigramEncoder> encoder =
      spec.model == "unigram"
          ? std::variant<BytePairEncoder, UnigramEncoder>(UnigramEncoder(unigram_pieces(spec), {vocabulary, options}))
          : BytePairEncoder(vocabulary, merges_by_score(spec, vocabulary), options, spec.where);
  const std::string space(SpaceRules::symbol);
  std::vector<TokenDecoderStep> decoder{ReplaceDecode{space, " ", false}};
  if (options.byte_fallback) decoder.emplace_back(ByteFallbackDecode{});
  std::optional<PrefixDecode> prefix;
  if (spec.spaces.adds_one || spec.spaces.squeezes) prefix = PrefixDecode{space, spec.spaces.squeezes};
  Pipeline pipeline{
      std::move(vocabulary), added_tokens_of(spec), Normalizer({normalizer_of(spec)}),
      PreTokenizer(),        std::move(encoder),    TokenDecoder(std::move(decoder), "", {}, std::move(prefix))};
  if (spec.unknown_surface) pipeline.unknown = spec.unk;
  pipeline.unknown_surface = spec.unknown_surface.value_or("");
  return pipeline;
}

}  // namespace detail

/// Errors: malformed for lists that do not fit together; unsupported for an unknown model or pre-tokenizer.
inline std::unique_ptr<Tokenizer> tokenizer_from_vocabulary(const VocabularySpec& spec) {
  if (spec.model != "gpt2" && spec.model != "llama" && spec.model != "unigram") {
    fail(ErrorCode::unsupported, spec.where, ": the tokenizer model \"", spec.model,
         "\" is not known; known are gpt2, llama");
  }
  detail::check(spec);
  Pipeline pipeline = spec.model == "gpt2"
                          ? detail::byte_level_pipeline(
                                detail::vocabulary_of(spec), detail::split_merges(spec.merges, spec.where),
                                detail::added_tokens_of(spec),
                                find_pre_tokenizer(spec.pre.empty() ? "default" : spec.pre, spec.where), spec.where)
                          : detail::scored_pipeline(spec);
  if (spec.add_bos && spec.bos) pipeline.prefix.push_back(*spec.bos);
  if (spec.add_eos && spec.eos) pipeline.suffix.push_back(*spec.eos);
  pipeline.added_as_written = spec.is_sentencepiece;
  pipeline.bos = spec.bos;
  pipeline.eos = spec.eos;
  return std::make_unique<PipelineTokenizer>(std::move(pipeline));
}

}  // namespace tulle
