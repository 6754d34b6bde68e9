// SPDX-License-Identifier: Apache-2.0
/// \file The tokenizer and the chat template inside a GGUF file (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/configured_chat_template.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/gguf_values.hpp>
#include <tulle/text/tokenizer.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {

namespace detail {

inline std::optional<Token> gguf_special_token(const GgufFile& file, const std::string& name) {
  const Json id = gguf_token(file, name);
  if (id.is_null()) return std::nullopt;
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<Token>::max());
  if (!(id >= 0) || id.get<std::uint64_t>() > largest) {
    fail(ErrorCode::malformed, file.where, ": the id of the ", name, " token is not from 0 to ", largest);
  }
  return static_cast<Token>(id.get<std::uint64_t>());
}

/// llama.cpp puts a bos in front where the file does not specify it: for SentencePiece vocabularies, and for byte-level
/// ones of these families (llama-vocab.cpp).
inline bool gguf_adds_bos(const VocabularySpec& spec) {
  constexpr std::array<std::string_view, 5> families{"llama-bpe", "llama3", "llama-v3", "falcon3", "tekken"};
  return spec.model == "llama" || std::find(families.begin(), families.end(), spec.pre) != families.end();
}

/// llama.cpp knows Phi-3 by its name (llama-vocab.cpp): white space behind its tokens belongs to them, as in its
/// tokenizer.json.
inline void set_flags_of_phi3(std::string name, VocabularySpec& spec) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.find("phi-3") == std::string::npos && name.find("phi3") == std::string::npos) return;
  for (const AddedToken& token : added_tokens_of(spec)) {
    if (token.content == "<s>" || token.content == "<unk>" || token.content == "<|endoftext|>") continue;
    add_flags(spec, static_cast<std::size_t>(token.id), VocabularySpec::rstrip);
  }
}

}  // namespace detail

/// The keys `tokenizer.ggml.*`.
/// Errors: not_found when the file has no vocabulary, malformed for wrong types.
inline VocabularySpec gguf_vocabulary(const GgufFile& file) {
  VocabularySpec spec;
  spec.where = file.where;
  spec.tokens = file.strings("tokenizer.ggml.tokens");
  if (spec.tokens.empty()) fail(ErrorCode::not_found, file.where, " holds no tokenizer (\"tokenizer.ggml.tokens\")");
  for (const std::int64_t type : file.integers("tokenizer.ggml.token_type")) {
    if (type < 0 || type > VocabularySpec::byte) {  // ggml also has 0, "undefined": read as normal
      fail(ErrorCode::malformed, file.where, ": \"tokenizer.ggml.token_type\" has the unknown type ", type);
    }
    spec.types.push_back(static_cast<int>(type));
  }
  for (const std::size_t id : detail::gguf_turn_ends(spec.tokens)) {
    if (spec.types.empty()) spec.types.assign(spec.tokens.size(), VocabularySpec::normal);
    if (id < spec.types.size()) spec.types[id] = VocabularySpec::control;
  }
  spec.scores = file.floats("tokenizer.ggml.scores");
  spec.merges = file.strings("tokenizer.ggml.merges");
  spec.model = detail::gguf_text(file, "tokenizer.ggml.model", "");
  spec.pre = detail::gguf_text(file, "tokenizer.ggml.pre", "default");
  spec.bos = detail::gguf_special_token(file, "bos");
  spec.eos = detail::gguf_special_token(file, "eos");
  spec.unk = detail::gguf_special_token(file, "unknown");
  const auto flag = [&](const char* key, bool fallback) {
    return json_value(file.metadata, key, fallback, file.where);
  };
  spec.add_bos = flag("tokenizer.ggml.add_bos_token", detail::gguf_adds_bos(spec));
  spec.add_eos = flag("tokenizer.ggml.add_eos_token", false);
  spec.spaces.adds_one = flag("tokenizer.ggml.add_space_prefix", spec.model == "llama");
  detail::set_flags_of_phi3(detail::gguf_text(file, "general.name", ""), spec);
  return spec;
}

/// Errors: those of `gguf_vocabulary` and `tokenizer_from_vocabulary`.
inline std::shared_ptr<const Tokenizer> tokenizer_from_gguf(const GgufFile& file) {
  return tokenizer_from_vocabulary(gguf_vocabulary(file));
}

/// "" where the file has none.
inline std::string chat_template_from_gguf(const GgufFile& file) {
  return detail::chat_template_of(detail::gguf_text(file, "tokenizer.chat_template", ""),
                                  detail::gguf_text(file, "tokenizer.chat_template.tool_use", ""));
}

}  // namespace tulle
