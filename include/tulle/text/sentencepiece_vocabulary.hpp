// SPDX-License-Identifier: Apache-2.0
/// \file The vocabulary in a sentencepiece .model file, for builds without the sentencepiece library (L2).
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

/// What a ModelProto says of how it splits text; field numbers are those of sentencepiece_model.proto.
struct SentencePieceRules {
  static constexpr std::uint64_t bpe = 2;
  std::uint64_t model_type = 1;  // unigram, where the file does not say
  bool has_character_map = false;
  bool squeezes_spaces = true;
  std::int32_t unk = 0, bos = 1, eos = 2;  // negative: there is none

  bool read_trainer(std::string_view message) {
    return ProtobufFields(message).all_of([&](const ProtobufField& field) {
      const auto id = static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value));
      switch (field.number) {
        case 3: model_type = field.value; break;
        case 40: unk = id; break;
        case 41: bos = id; break;
        case 42: eos = id; break;
        default: break;
      }
      return true;
    });
  }

  bool read_normalizer(std::string_view message, bool& adds_prefix) {
    return ProtobufFields(message).all_of([&](const ProtobufField& field) {
      switch (field.number) {
        case 2: has_character_map = !field.bytes.empty(); break;
        case 3: adds_prefix = field.value != 0; break;
        case 4: squeezes_spaces = field.value != 0; break;
        default: break;
      }
      return true;
    });
  }
};

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

/// The vocabulary of a BPE model without a character map, as those of the Llama family are: `tokenizer_from_vocabulary`
/// then gives the library's own ids. No bos or eos is added unless the caller asks for it.
/// Errors: malformed for what is no model; unsupported for other kinds, which need the library.
inline VocabularySpec sentencepiece_vocabulary(std::string_view model, std::string_view where) {
  VocabularySpec spec;
  spec.where = where;
  spec.model = "llama";
  spec.normalizes_user_defined = true;
  detail::SentencePieceRules rules;
  const bool is_sound = detail::ProtobufFields(model).all_of([&](const detail::ProtobufField& field) {
    switch (field.number) {
      case 1: return detail::read_sentence_piece(field.bytes, spec);
      case 2: return rules.read_trainer(field.bytes);
      case 3: return rules.read_normalizer(field.bytes, spec.add_space_prefix);
      default: return true;
    }
  });
  if (!is_sound || spec.tokens.empty()) {
    fail(ErrorCode::malformed, where, ": not a sentencepiece model; is the file complete?");
  }
  if (rules.model_type != detail::SentencePieceRules::bpe || rules.has_character_map || rules.squeezes_spaces) {
    fail(ErrorCode::unsupported, where, " is no plain BPE model and needs the sentencepiece library; build with ",
         "-DTULLE_WITH_SENTENCEPIECE=ON, or convert it to a tokenizer.json");
  }
  const auto token = [&](std::int32_t id) {
    const bool exists = id >= 0 && static_cast<std::size_t>(id) < spec.tokens.size();
    return exists ? std::optional<Token>(id) : std::nullopt;
  };
  spec.unk = token(rules.unk);
  spec.bos = token(rules.bos);
  spec.eos = token(rules.eos);
  return spec;
}

}  // namespace tulle
