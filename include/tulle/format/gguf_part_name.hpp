// SPDX-License-Identifier: Apache-2.0
/// \file How the files of a GGUF model in parts are called (L3).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tulle::detail {

/// STEM-00002-of-00003.gguf, the name of the second of three parts.
struct GgufPartName {
  std::string stem;
  std::uint64_t number = 1;  ///< from 1
  std::uint64_t count = 1;
};

inline std::string gguf_part_file(const std::string& stem, std::uint64_t number, std::uint64_t count) {
  const auto digits = [](std::uint64_t value) {
    const std::string text = std::to_string(value);
    return std::string(5 - std::min<std::size_t>(text.size(), 5), '0') + text;
  };
  return stem + "-" + digits(number) + "-of-" + digits(count) + ".gguf";
}

/// Nothing when a file is called otherwise.
inline std::optional<GgufPartName> parse_gguf_part_name(std::string_view name) {
  constexpr std::size_t tail = std::string_view("-00002-of-00003.gguf").size();
  if (name.size() < tail) return std::nullopt;
  GgufPartName part;
  part.stem = name.substr(0, name.size() - tail);
  const std::string_view number = name.substr(part.stem.size() + 1, 5), count = name.substr(name.size() - 10, 5);
  std::from_chars(number.data(), number.data() + number.size(), part.number);
  std::from_chars(count.data(), count.data() + count.size(), part.count);
  if (gguf_part_file(part.stem, part.number, part.count) != name) return std::nullopt;
  return part;
}

/// Of files that are all called .gguf, the one to open: the only one, or the first part of the only model. "" where
/// there is none, nothing where there are several models.
inline std::optional<std::string> only_gguf_model(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  if (names.size() == 1) return names.front();
  const auto first = parse_gguf_part_name(names.front());
  const bool one_model = first && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                           const auto part = parse_gguf_part_name(name);
                           return part && part->stem == first->stem && part->count == first->count;
                         });
  if (!one_model) return std::nullopt;
  return gguf_part_file(first->stem, 1, first->count);
}

}  // namespace tulle::detail
