// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers and chat templates, found beside a model or alone (L3).
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/text/no_tokenizer.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

class ModelFiles;
struct SentencePieceOptions;

namespace detail {

/// A tokenizer of the bytes of a sentencepiece .model file; the third argument names the file in messages.
using ReadSentencePiece = std::shared_ptr<const Tokenizer> (*)(std::string_view, const SentencePieceOptions&,
                                                               std::string_view);

std::shared_ptr<const Tokenizer> load_tokenizer(const ModelFiles& files, ReadSentencePiece read);
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, ReadSentencePiece read);

}  // namespace detail

/// A type that reads .model files. Errors of `read`: malformed, unsupported.
template <class Reader>
concept SentencePieceReader = std::convertible_to<decltype(&Reader::read), detail::ReadSentencePiece>;

/// Our own code, for BPE and unigram models. `SentencePieceLibrary` in <tulle/text/sentencepiece.hpp> is the other one.
struct OwnSentencePiece {
  static std::shared_ptr<const Tokenizer> read(std::string_view model_bytes, const SentencePieceOptions& options,
                                               std::string_view where);
};

/// The tokenizer among a model's files: tokenizer.json comes first, then vocab.json + merges.txt, tekken.json,
/// tokenizer.model, one .gguf. Errors: not_found with what was looked for, malformed, unsupported.
template <SentencePieceReader Reader = OwnSentencePiece>
std::shared_ptr<const Tokenizer> load_tokenizer(const ModelFiles& files) {
  return detail::load_tokenizer(files, &Reader::read);
}

/// `path`: a model directory, a folder with only tokenizer files, a GGUF file, a tokenizer.json or tekken.json, or a
/// sentencepiece .model file. Errors: those of the files.
template <SentencePieceReader Reader = OwnSentencePiece>
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path) {
  return detail::load_tokenizer(path, &Reader::read);
}

/// The same, from a path or a model's files; a NoTokenizer where there is none: a model of token ids alone is no error.
/// Errors: malformed, unsupported.
template <SentencePieceReader Reader = OwnSentencePiece, class Model>
std::shared_ptr<const Tokenizer> load_tokenizer_if_any(const Model& model) {
  try {
    return load_tokenizer<Reader>(model);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return std::make_shared<const NoTokenizer>();
  }
}

/// The chat template among a model's files: chat_template.jinja, "chat_template" in tokenizer_config.json, or the one
/// in a GGUF file, where there is no tokenizer.json; with a further one for tools (additional_chat_templates/
/// tool_use.jinja, "tool_use"), both as one. "" where there is none. Errors: malformed.
std::string load_chat_template(const ModelFiles& files);

/// The chat template that belongs to `path` (as for `load_tokenizer`). "" where there is none.
/// Errors: not_found when `path` does not exist, malformed.
std::string load_chat_template(const std::string& path);

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/format/tokenizer_files_inline.hpp>
#endif
