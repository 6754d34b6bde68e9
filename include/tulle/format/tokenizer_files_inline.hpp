// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for tokenizer_files.hpp (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/configured_chat_template.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_tokenizer.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/text/sentencepiece_folder.hpp>
#include <tulle/text/sentencepiece_options.hpp>
#include <tulle/text/sentencepiece_vocabulary.hpp>
#include <tulle/text/tekken.hpp>
#include <tulle/text/tokenizer_json.hpp>
#include <tulle/text/vocab_merges.hpp>

namespace tulle {

namespace detail {

/// tokenizer_config.json, with the entries that only special_tokens_map.json has (the older form).
inline Json read_tokenizer_config(const ModelFiles& files) {
  Json config = files.optional_json("tokenizer_config.json");
  const Json map = files.optional_json("special_tokens_map.json");
  if (config.is_null()) return map;
  if (map.is_object()) config.insert(map.begin(), map.end());  // keeps what is there
  return config;
}

/// The tokenizer that `read` makes of a .model file and of what the files beside it add.
inline std::shared_ptr<const Tokenizer> sentencepiece_from_file(const ModelFiles& files, const std::string& name,
                                                                ReadSentencePiece read) {
  const SentencePieceOptions options =
      sentencepiece_options(read_tokenizer_config(files), files.optional_json("added_tokens.json"), files.where());
  return read(files.open(name)->text(), options, files.path(name));
}

/// A tokenizer.json, or a tekken.json: that has a list of bytes.
inline std::shared_ptr<const Tokenizer> tokenizer_from_json_file(const ModelFiles& files, const std::string& name) {
  const Json json = files.json(name);
  if constexpr (!is_web) {
    if (section(json, "vocab").is_array()) return tokenizer_from_tekken(json, files.path(name));
  }
  return tokenizer_from_json(json, read_tokenizer_config(files), files.path(name));
}

/// What `make` makes of the metadata of a GGUF file.
template <class Make>
auto from_gguf_file(const ModelFiles& files, const std::string& name, Make&& make) {
  const std::shared_ptr<const InputFile> file = files.open(name);
  return make(parse_head(*file, [&](std::span<const std::byte> head) {
    return parse_gguf_metadata(head, file->size(), files.path(name));
  }));
}

inline std::shared_ptr<const Tokenizer> tokenizer_from_gguf_file(const ModelFiles& files, const std::string& name) {
  return from_gguf_file(files, name, [](const GgufFile& file) { return tokenizer_from_gguf(file); });
}

TULLE_INLINE std::shared_ptr<const Tokenizer> load_tokenizer(const ModelFiles& files, ReadSentencePiece read) {
  if (files.has("tokenizer.json")) return tokenizer_from_json_file(files, "tokenizer.json");
  if (files.has("vocab.json") && files.has("merges.txt")) {
    const std::shared_ptr<const InputFile> merges = files.open("merges.txt");
    return tokenizer_from_vocab_merges(files.json("vocab.json"), merges->text(),
                                       files.optional_json("added_tokens.json"), read_tokenizer_config(files),
                                       files.where());
  }
  if (files.has("tekken.json")) return tokenizer_from_json_file(files, "tekken.json");
  if (files.has("tokenizer.model")) return sentencepiece_from_file(files, "tokenizer.model", read);
  if (const std::string gguf = files.only_gguf(); !gguf.empty()) return tokenizer_from_gguf_file(files, gguf);
  fail(ErrorCode::not_found, files.where(),
       " holds no tokenizer; looked for tokenizer.json, vocab.json with merges.txt, tekken.json, tokenizer.model and "
       "one .gguf file");
}

TULLE_INLINE std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, ReadSentencePiece read) {
  if (is_directory(path)) return load_tokenizer(DirectoryFiles(path), read);
  if (!is_file(path)) fail_no_file(path, "a model or a tokenizer");
  const auto [files, name] = split_path(path);
  if (is_gguf_file(path)) return tokenizer_from_gguf_file(files, name);
  if (path.ends_with(".safetensors")) return load_tokenizer(files, read);
  if (path.ends_with(".json")) return tokenizer_from_json_file(files, name);
  if (path.ends_with(".model")) return sentencepiece_from_file(files, name, read);
  fail(ErrorCode::unsupported, path, " is no tokenizer; give a tokenizer.json, a .model, a GGUF file or a directory");
}

}  // namespace detail

TULLE_INLINE std::shared_ptr<const Tokenizer> OwnSentencePiece::read(std::string_view model_bytes,
                                                                     const SentencePieceOptions& options,
                                                                     std::string_view where) {
  VocabularySpec spec = sentencepiece_vocabulary(model_bytes, where);
  apply_options(options, spec);
  return tokenizer_from_vocabulary(spec);
}

TULLE_INLINE std::string load_chat_template(const ModelFiles& files) {
  const auto text = [&](const char* name) {
    return files.has(name) ? std::string(files.open(name)->text()) : std::string();
  };
  if (files.has("chat_template.jinja")) {
    return detail::chat_template_of(text("chat_template.jinja"), text("additional_chat_templates/tool_use.jinja"));
  }
  if (files.has("tokenizer_config.json")) {
    return detail::configured_chat_template(files.json("tokenizer_config.json"), files.path("tokenizer_config.json"));
  }
  if (files.has("tokenizer.json")) return "";
  const std::string gguf = files.only_gguf();
  return gguf.empty() ? "" : detail::from_gguf_file(files, gguf, chat_template_from_gguf);
}

TULLE_INLINE std::string load_chat_template(const std::string& path) {
  if (detail::is_directory(path)) return load_chat_template(DirectoryFiles(path));
  if (!detail::is_file(path)) detail::fail_no_file(path, "a model or a tokenizer");
  const auto [files, name] = detail::split_path(path);
  if (detail::is_gguf_file(path)) return detail::from_gguf_file(files, name, chat_template_from_gguf);
  const bool configured = files.has("chat_template.jinja") || files.has("tokenizer_config.json");
  return configured ? load_chat_template(files) : "";
}

}  // namespace tulle
