// SPDX-License-Identifier: Apache-2.0
/// \file Single values of GGUF metadata, with their types checked (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle::detail {

/// A string of the metadata, or `fallback` where it is absent.
inline std::string gguf_text(const GgufFile& file, const std::string& key, const std::string& fallback) {
  return json_value(file.metadata, key.c_str(), fallback, file.where);
}

/// A scalar of the metadata that must be a number, or null where it is absent. Integers may have any width.
inline Json gguf_number(const GgufFile& file, const std::string& key, bool integer) {
  if (file.arrays.contains(key)) {
    fail(ErrorCode::unsupported, file.where, ": metadata ", quoted_name(key), " differs from layer to layer");
  }
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return nullptr;
  if (integer ? !found->is_number_integer() : !found->is_number()) {
    fail(ErrorCode::malformed, file.where, ": metadata ", quoted_name(key), " is no ", integer ? "integer" : "number");
  }
  return *found;
}

/// `gguf_number`. Errors: malformed when it is absent.
inline Json required_gguf_number(const GgufFile& file, const std::string& key, bool integer) {
  Json value = gguf_number(file, key, integer);
  if (value.is_null()) fail(ErrorCode::malformed, file.where, ": metadata ", quoted_name(key), " is missing");
  return value;
}

/// The id of "bos", "eos", "unknown", ...; where the file has none, llama.cpp's default for its SentencePiece kind of
/// tokenizer, or null.
inline Json gguf_token(const GgufFile& file, const std::string& name) {
  const Json id = gguf_number(file, "tokenizer.ggml." + name + "_token_id", true);
  if (!id.is_null() || gguf_text(file, "tokenizer.ggml.model", "") != "llama") return id;
  if (name == "unknown") return 0;
  if (name == "bos") return 1;
  return name == "eos" ? Json(2) : Json();
}

/// Ids of the tokens that end a turn, a message or a text, by their texts: many files name but one of them. llama.cpp finds
/// them so too and takes them as control tokens (llama-vocab.cpp). Of gpt-oss <|end|> is none.
inline std::vector<std::size_t> gguf_turn_ends(const std::vector<std::string>& tokens) {
  constexpr std::array<std::string_view, 11> texts{
      "<|end|>",  "<|im_end|>", "<|eot_id|>",    "<|eom_id|>",      "<end_of_turn>",     "<|return|>",
      "<|call|>", "<EOT>",      "<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>"};
  std::vector<std::size_t> ids;
  bool has_return = false;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (std::find(texts.begin(), texts.end(), tokens[id]) == texts.end()) continue;
    ids.push_back(id);
    has_return = has_return || tokens[id] == "<|return|>";
  }
  std::erase_if(ids, [&](std::size_t id) { return has_return && tokens[id] == texts[0]; });
  return ids;
}

}  // namespace tulle::detail
