// SPDX-License-Identifier: Apache-2.0
/// \file The vocabulary and the rules in a sentencepiece .model file (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/protobuf.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {

namespace detail {

/// Field numbers are those of sentencepiece_model.proto.
struct SentencePieceRules {
  static constexpr std::uint64_t unigram = 1, bpe = 2;
  std::uint64_t model_type = unigram;
  std::string_view bos = "<s>", eos = "</s>";  // the names of these pieces
};

inline bool read_trainer(std::string_view message, VocabularySpec& spec, SentencePieceRules& rules) {
  return ProtobufFields(message).all_of([&](const ProtobufField& field) {
    switch (field.number) {
      case 3: rules.model_type = field.value; break;
      case 24: spec.spaces.is_suffix = field.value != 0; break;
      case 44: spec.unknown_surface = field.bytes; break;
      case 46: rules.bos = field.bytes.empty() ? rules.bos : field.bytes; break;
      case 47: rules.eos = field.bytes.empty() ? rules.eos : field.bytes; break;
      default: break;
    }
    return true;
  });
}

inline bool read_normalizer(std::string_view message, VocabularySpec& spec) {
  return ProtobufFields(message).all_of([&](const ProtobufField& field) {
    switch (field.number) {
      case 2: spec.character_map = field.bytes; break;
      case 3: spec.spaces.adds_one = field.value != 0; break;
      case 4: spec.spaces.squeezes = field.value != 0; break;
      case 5: spec.spaces.escapes = field.value != 0; break;
      default: break;
    }
    return true;
  });
}

/// The splitting rules of a ModelProto; nothing when it is broken.
inline std::optional<SentencePieceRules> read_sentencepiece_rules(std::string_view model, VocabularySpec& spec) {
  SentencePieceRules rules;
  spec.is_sentencepiece = true;
  spec.spaces.squeezes = true;
  spec.unknown_surface = " \u2047 ";
  const bool is_sound = ProtobufFields(model).all_of([&](const ProtobufField& field) {
    if (field.number == 2) return read_trainer(field.bytes, spec, rules);
    return field.number != 3 || read_normalizer(field.bytes, spec);
  });
  return is_sound ? std::optional(rules) : std::nullopt;
}

inline bool read_sentence_piece(std::string_view message, VocabularySpec& spec) {
  std::string piece;
  float score = 0;
  std::uint64_t type = VocabularySpec::normal;
  const bool is_sound = ProtobufFields(message).all_of([&](const ProtobufField& field) {
    switch (field.number) {
      case 1: piece = field.bytes; break;
      case 2: {
        const auto bits = static_cast<std::uint32_t>(field.value);
        std::memcpy(&score, &bits, sizeof score);
        break;
      }
      case 3: type = field.value; break;
      default: break;
    }
    return true;
  });
  if (!is_sound || type < VocabularySpec::normal || type > VocabularySpec::byte) return false;
  spec.tokens.push_back(std::move(piece));
  spec.scores.push_back(score);
  spec.types.push_back(static_cast<int>(type));
  return true;
}

}  // namespace detail

/// The vocabulary of a BPE or unigram model: `tokenizer_from_vocabulary` then gives the library's own ids. No bos or
/// eos is added unless the caller asks for it. Errors: malformed for bytes that are not a model; unsupported for word
/// and character models.
inline VocabularySpec sentencepiece_vocabulary(std::string_view model, std::string_view where) {
  VocabularySpec spec;
  spec.where = where;
  const std::optional<detail::SentencePieceRules> rules = detail::read_sentencepiece_rules(model, spec);
  const bool is_sound = rules && detail::ProtobufFields(model).all_of([&](const detail::ProtobufField& field) {
    return field.number != 1 || detail::read_sentence_piece(field.bytes, spec);
  });
  if (!is_sound || spec.tokens.empty()) {
    fail(ErrorCode::malformed, where, ": not a sentencepiece model; is the file complete?");
  }
  if (rules->model_type != rules->unigram && rules->model_type != rules->bpe) {
    fail(ErrorCode::unsupported, where, ": a model of whole words or characters; only BPE and unigram models are read ",
         "without the sentencepiece library (tulle::SentencePieceLibrary)");
  }
  spec.model = rules->model_type == rules->bpe ? "llama" : "unigram";
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const auto token = static_cast<Token>(id);
    if (spec.types[id] == VocabularySpec::unknown) spec.unk = token;
    if (spec.types[id] != VocabularySpec::control) continue;
    if (spec.tokens[id] == rules->bos) spec.bos = token;
    if (spec.tokens[id] == rules->eos) spec.eos = token;
  }
  return spec;
}

}  // namespace tulle
