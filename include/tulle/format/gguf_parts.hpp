// SPDX-License-Identifier: Apache-2.0
/// \file GGUF models in parts, as llama.cpp's gguf-split writes them: the metadata is in the first (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_part_name.hpp>
#include <tulle/format/gguf_values.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle::detail {

/// The place of a file in a model, as its metadata gives it.
struct GgufPart {
  std::uint64_t index = 0;  ///< from 0
  std::uint64_t count = 1;
  std::uint64_t tensors = 0;  ///< of all parts

  bool operator==(const GgufPart&) const = default;
};

/// Errors: malformed.
inline GgufPart gguf_part(const GgufFile& file) {
  const auto number = [&file](const char* key) -> std::uint64_t {
    const Json value = gguf_number(file, key, true);
    const std::int64_t known = value.is_null() ? 0 : value.get<std::int64_t>();
    if (known < 0) fail(ErrorCode::malformed, file.where, ": metadata ", quoted_name(key), " is negative");
    return static_cast<std::uint64_t>(known);
  };
  const std::uint64_t count = std::max<std::uint64_t>(number("split.count"), 1);
  return {number("split.no"), count, number("split.tensors.count")};
}

/// For messages.
inline std::string describe(const std::string& where, const GgufPart& part) {
  if (part.count == 1) return where + " is no part of a model";
  return where + " is part " + std::to_string(part.index + 1) + " of " + std::to_string(part.count) + " of a model";
}

/// A part that is open, and its tensors without their bytes.
struct OpenGgufPart {
  std::shared_ptr<const InputFile> file;
  std::vector<EncodedTensor> tensors;
};

/// Opens part `index` (from 1 on) of the model whose first part has the metadata `first` and is called `name`.
inline OpenGgufPart open_gguf_part(const GgufPart& first, std::uint64_t index, const ModelFiles& files,
                                   const std::string& name) {
  const std::string other = gguf_part_file(parse_gguf_part_name(name)->stem, index + 1, first.count);
  const std::string where = files.path(other);
  if (!files.has(other)) {
    fail(ErrorCode::not_found, where, " is missing; ", describe(name, first), " and needs all of them beside it");
  }
  OpenGgufPart part{files.open(other), {}};
  const GgufPart found = parse_head(*part.file, [&](std::span<const std::byte> head) {
    GgufFile parsed = parse_gguf_head(head, part.file->size(), where);
    part.tensors = std::move(parsed.tensors);
    part.file->release(head);
    return gguf_part(parsed);
  });
  if (found != GgufPart{index, first.count, first.tensors}) {
    fail(ErrorCode::malformed, describe(where, found), ", not part ", index + 1, " of the model of ", name,
         "; give the parts of one model, under the names they were made with");
  }
  return part;
}

/// Opens the other parts of a model. `opened`: the file `name` of `files`, which is nullptr for bytes in memory.
/// Returns nothing for a file that is a model alone.
/// Errors: invalid_argument where the file is not the first part or not called so; not_found, malformed.
inline std::vector<OpenGgufPart> open_other_gguf_parts(const GgufFile& opened, const ModelFiles* files,
                                                       const std::string& name) {
  const GgufPart first = gguf_part(opened);
  std::vector<OpenGgufPart> parts;
  if (first.count == 1) return parts;
  const std::string this_part = describe(opened.where, first);
  const auto named = parse_gguf_part_name(name);
  if (first.index != 0) {
    const std::string stem = named ? named->stem : "NAME";
    fail(ErrorCode::invalid_argument, this_part, "; give the first one, ", gguf_part_file(stem, 1, first.count));
  }
  if (files == nullptr) {
    fail(ErrorCode::invalid_argument, this_part, "; bytes alone are not enough, give all parts as files with names");
  }
  if (!named || named->number != 1 || named->count != first.count) {
    fail(ErrorCode::invalid_argument, this_part, " but not called so; rename it to ",
         gguf_part_file("NAME", 1, first.count), " and the others alike");
  }
  std::uint64_t tensors = opened.tensors.size();
  for (std::uint64_t index = 1; index < first.count; ++index) {
    parts.push_back(open_gguf_part(first, index, *files, name));
    tensors += parts.back().tensors.size();
  }
  if (tensors != first.tensors) {
    fail(ErrorCode::malformed, opened.where, ": the parts of the model hold ", tensors, " tensors where ",
         first.tensors, " are announced; make the parts anew");
  }
  return parts;
}

}  // namespace tulle::detail
