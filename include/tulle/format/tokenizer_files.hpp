// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers and chat templates, found beside a model or alone (L3).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_tokenizer.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/text/no_tokenizer.hpp>
#include <tulle/text/tokenizer.hpp>
#include <tulle/text/tokenizer_json.hpp>
#include <tulle/text/vocab_merges.hpp>

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
#endif

namespace tulle {

namespace detail {

/// The object in a file that may be missing: null then.
inline Json optional_json_object(const std::string& path) {
  return is_file(path) ? read_json_object(path) : Json();
}

/// tokenizer_config.json, with what only special_tokens_map.json says (the older form) put in.
inline Json read_tokenizer_config(const std::string& directory) {
  Json config = optional_json_object(join_path(directory, "tokenizer_config.json"));
  const Json map = optional_json_object(join_path(directory, "special_tokens_map.json"));
  if (config.is_null()) return map;
  if (map.is_object()) config.insert(map.begin(), map.end());  // keeps what is there
  return config;
}

inline std::shared_ptr<const Tokenizer> sentencepiece_from_file(const std::string& path) {
#ifdef TULLE_WITH_SENTENCEPIECE
  const std::string directory = directory_of(path);
  const Json config = read_tokenizer_config(directory);
  SentencePieceOptions options;
  if (config.is_object()) {
    options.add_bos = json_value(config, "add_bos_token", true, directory);
    options.add_eos = json_value(config, "add_eos_token", false, directory);
  }
  const Json added = optional_json_object(join_path(directory, "added_tokens.json"));
  for (const auto& entry : added.items()) {
    AddedToken token;
    token.content = entry.key();
    token.id = to_token(entry.value(), directory);
    options.added_tokens.push_back(std::move(token));
  }
  return tokenizer_from_sentencepiece(MappedFile(path).text(), options, path);
#else
  fail(ErrorCode::unsupported, path, " needs the sentencepiece library; build with -DTULLE_WITH_SENTENCEPIECE=ON ",
       "or convert it to a tokenizer.json");
#endif
}

inline std::shared_ptr<const Tokenizer> tokenizer_from_json_file(const std::string& path) {
  return tokenizer_from_json(read_json_object(path), read_tokenizer_config(directory_of(path)), path);
}

inline std::shared_ptr<const Tokenizer> tokenizer_from_gguf_file(const std::string& path) {
  const MappedFile file(path);
  return tokenizer_from_gguf(parse_gguf_metadata(file.bytes(), path));
}

inline std::shared_ptr<const Tokenizer> tokenizer_from_directory(const std::string& directory) {
  const auto file = [&](const char* name) { return join_path(directory, name); };
  if (is_file(file("tokenizer.json"))) return tokenizer_from_json_file(file("tokenizer.json"));
  if (is_file(file("vocab.json")) && is_file(file("merges.txt"))) {
    const MappedFile merges(file("merges.txt"));
    return tokenizer_from_vocab_merges(read_json_object(file("vocab.json")), merges.text(),
                                       optional_json_object(file("added_tokens.json")),
                                       read_tokenizer_config(directory), directory);
  }
  if (is_file(file("tokenizer.model"))) return sentencepiece_from_file(file("tokenizer.model"));
  if (const std::string gguf = only_gguf_file(directory); !gguf.empty()) return tokenizer_from_gguf_file(gguf);
  fail(ErrorCode::not_found, directory, " holds no tokenizer; looked for tokenizer.json, vocab.json with merges.txt, ",
       "tokenizer.model and one .gguf file");
}

/// "chat_template" of tokenizer_config.json: a string, or a list of {"name", "template"}, of which "default" is taken.
inline std::string configured_chat_template(const Json& config, const std::string& where) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) fail(ErrorCode::malformed, where, ": \"chat_template\" is neither a string nor a list");
  for (const Json& entry : *found) {
    if (!entry.is_object()) fail(ErrorCode::malformed, where, ": \"chat_template\" has an entry that is no object");
    if (json_value(entry, "name", std::string(), where) == "default") {
      return json_value(entry, "template", std::string(), where);
    }
  }
  return "";
}

}  // namespace detail

/// `path`: a model directory, a folder with only tokenizer files, a GGUF file, a tokenizer.json, or a sentencepiece
/// .model file. In a directory tokenizer.json comes first, then vocab.json + merges.txt, tokenizer.model, one .gguf.
/// Errors: not_found with what was looked for, malformed, unsupported.
inline std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path) {
  if (detail::is_directory(path)) return detail::tokenizer_from_directory(path);
  if (!detail::is_file(path)) {
    fail(ErrorCode::not_found, path, ": no such file or directory; give a model or a tokenizer");
  }
  if (detail::is_gguf_file(path)) return detail::tokenizer_from_gguf_file(path);
  if (path.ends_with(".safetensors")) return detail::tokenizer_from_directory(detail::directory_of(path));
  if (path.ends_with(".json")) return detail::tokenizer_from_json_file(path);
  if (path.ends_with(".model")) return detail::sentencepiece_from_file(path);
  fail(ErrorCode::unsupported, path, " is no tokenizer; give a tokenizer.json, a .model, a GGUF file or a directory");
}

/// The same; a NoTokenizer where there is none: a model of token ids alone is no error. Errors: malformed, unsupported.
inline std::shared_ptr<const Tokenizer> load_tokenizer_if_any(const std::string& path) {
  try {
    return load_tokenizer(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return std::make_shared<const NoTokenizer>();
  }
}

/// The chat template that belongs to `path` (as for `load_tokenizer`): chat_template.jinja, "chat_template" in
/// tokenizer_config.json, or the one in a GGUF file. "" where there is none.
/// Errors: not_found when `path` does not exist, malformed.
inline std::string load_chat_template(const std::string& path) {
  if (!detail::is_directory(path) && !detail::is_file(path)) {
    fail(ErrorCode::not_found, path, ": no such file or directory; give a model or a tokenizer");
  }
  const auto of_gguf = [](const std::string& gguf) {
    const MappedFile file(gguf);
    return chat_template_from_gguf(parse_gguf_metadata(file.bytes(), gguf));
  };
  if (!detail::is_directory(path) && detail::is_gguf_file(path)) return of_gguf(path);

  const std::string directory = detail::is_directory(path) ? path : detail::directory_of(path);
  const std::string jinja = detail::join_path(directory, "chat_template.jinja");
  if (detail::is_file(jinja)) return std::string(MappedFile(jinja).text());
  const std::string config = detail::join_path(directory, "tokenizer_config.json");
  if (detail::is_file(config)) return detail::configured_chat_template(detail::read_json_object(config), config);
  if (detail::is_directory(path) && !detail::is_file(detail::join_path(path, "tokenizer.json"))) {
    if (const std::string gguf = detail::only_gguf_file(path); !gguf.empty()) return of_gguf(gguf);
  }
  return "";
}

}  // namespace tulle
