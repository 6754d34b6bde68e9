// SPDX-License-Identifier: Apache-2.0
/// \file Single values of GGUF metadata, with their types checked (L3).
#pragma once

#include <string>

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

}  // namespace tulle::detail
