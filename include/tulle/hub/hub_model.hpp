// SPDX-License-Identifier: Apache-2.0
/// \file A model of the Hugging Face Hub as users write it: hf:org/name[@revision][:file.gguf] (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

/// What a caller reads of a model.
enum class HubPart { model, tokenizer };

struct HubModel {
  std::string repository;         ///< "org/name", or a name alone
  std::string revision = "main";  ///< a branch, tag or commit
  std::string file;               ///< a GGUF file, with its folders; empty: the model of the repository

  /// As a user writes it.
  std::string text() const { return text_of(file); }
  std::string text_of(std::string_view other_file) const {
    std::string text = "hf:" + repository + (revision == "main" ? "" : "@" + revision);
    return other_file.empty() ? text : text.append(":").append(other_file);
  }
};

namespace detail {

inline bool is_ascii_alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// Whether `text` is a commit: 40 hexadecimal digits of lower case.
inline bool is_commit(std::string_view text) noexcept {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A path that leads to nothing outside of the folder that it is joined to: plain names between single slashes.
inline bool is_safe_path(std::string_view path) noexcept {
  if (path.empty() || path.size() > 1024) return false;
  const auto is_bad = [](char c) { return c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(path.begin(), path.end(), is_bad)) return false;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// One part of org/name, by the hub's own rules.
inline bool is_repository_part(std::string_view part) noexcept {
  const auto is_allowed = [](char c) { return is_ascii_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  const auto is_edge = [](char c) { return c != '-' && c != '.'; };
  return !part.empty() && part.size() <= 96 && std::all_of(part.begin(), part.end(), is_allowed) &&
         is_edge(part.front()) && is_edge(part.back()) && part.find("--") == std::string_view::npos &&
         part.find("..") == std::string_view::npos;
}

inline bool is_repository(std::string_view name) noexcept {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos
             ? is_repository_part(name)
             : is_repository_part(name.substr(0, slash)) && is_repository_part(name.substr(slash + 1));
}

}  // namespace detail

/// Nothing where `text` is no name of the hub but a path. Errors: invalid_argument for a name that breaks the rules, and
/// for a stub of SparseZoo.
inline std::optional<HubModel> parse_hub_model(std::string_view text) {
  if (text.starts_with("zoo:")) {
    fail(
        ErrorCode::invalid_argument, detail::quoted_name(text),
        ": \"zoo:\" names a model of SparseZoo, which was closed with DeepSparse in June 2025; look for such models in "
        "the organisations RedHatAI (formerly neuralmagic) of Hugging Face and give hf:RedHatAI/NAME or a path");
  }
  if (!text.starts_with("hf:")) return std::nullopt;
  const auto refuse = [&](const char* what) {
    fail(ErrorCode::invalid_argument, detail::quoted_name(text), ": ", what,
         "; a model of the hub is hf:org/name[@revision][:file.gguf]");
  };
  std::string_view rest = text.substr(3);
  HubModel model;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    model.file = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!detail::is_safe_path(model.file) || !model.file.ends_with(".gguf"))
      refuse("the file is no name of a GGUF file");
  }
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    model.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!detail::is_safe_path(model.revision)) refuse("the revision is no branch, tag or commit");
  }
  model.repository = rest;
  if (!detail::is_repository(model.repository)) refuse("there is no such name on the hub");
  return model;
}

}  // namespace tulle
