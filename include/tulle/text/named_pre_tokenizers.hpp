// SPDX-License-Identifier: Apache-2.0
/// \file The pre-tokenizers that GGUF files name and do not describe (L2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/text/pre_tokenizer.hpp>

namespace tulle {

/// The patterns of a byte-level pre-tokenizer, each splitting the pieces of the one before, and further settings of the
/// tokenizer.
struct NamedPreTokenizer {
  std::vector<std::string_view> names;
  std::vector<std::string_view> patterns;
  bool composes = false;       ///< NFC first, as the model's tokenizer.json does (llama.cpp does not)
  bool ignore_merges = false;  ///< a word in the vocabulary is taken whole
};

/// The names are those of `tokenizer.ggml.pre` in llama.cpp; the patterns those of the models' tokenizer.json.
inline const std::vector<NamedPreTokenizer>& named_pre_tokenizers() {
  static constexpr std::string_view gpt2 = gpt2_pattern;
  static constexpr std::string_view llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
      R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view qwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
      R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view tekken =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
      R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
      R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view gpt4o =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::vector<NamedPreTokenizer> all = {
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {{"gpt-2", "phi-2", "jais"}, {gpt2}},
      {{"olmo", "mpt"}, {gpt2}, true},
      {{"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"}, {R"(\p{N})", gpt2}},
      {{"command-r"}, {R"(\p{N})", gpt2}, true},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3"}, {llama3}, false, true},
      {{"dbrx", "smaug-bpe"}, {llama3}},
      {{"qwen2", "deepseek-r1-qwen"}, {qwen2}, true},
      {{"stablelm2"}, {qwen2}},
      {{"tekken"}, {tekken}, false, true},
      {{"gpt-4o", "llama4"}, {gpt4o}},
      {{"bloom"}, {R"( ?[^(\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+)"}},
      {{"deepseek-coder"},
       {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", R"([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)", R"(\p{N})"}},
  };
  return all;
}

/// Errors: unsupported for an unknown name, with the known ones; `where` names the file.
inline const NamedPreTokenizer& find_pre_tokenizer(std::string_view wanted, std::string_view where) {
  std::string known;
  for (const NamedPreTokenizer& entry : named_pre_tokenizers()) {
    for (const std::string_view name : entry.names) {
      if (name == wanted) return entry;
      known.append(known.empty() ? "" : ", ").append(name);
    }
  }
  fail(ErrorCode::unsupported, where, ": the pre-tokenizer \"", wanted, "\" is not known; known are ", known);
}

}  // namespace tulle
