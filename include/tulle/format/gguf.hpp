// SPDX-License-Identifier: Apache-2.0
/// \file The GGUF container, versions 2 and 3: metadata, then tensors (L3).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/gguf_types.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

inline Json gguf_scalar(ByteReader& reader, GgufType type, const std::string& what) {
  switch (type) {
    case GgufType::u8: return reader.read<std::uint8_t>(what);
    case GgufType::i8: return reader.read<std::int8_t>(what);
    case GgufType::u16: return reader.read<std::uint16_t>(what);
    case GgufType::i16: return reader.read<std::int16_t>(what);
    case GgufType::u32: return reader.read<std::uint32_t>(what);
    case GgufType::i32: return reader.read<std::int32_t>(what);
    case GgufType::f32: return reader.read<float>(what);
    case GgufType::u64: return reader.read<std::uint64_t>(what);
    case GgufType::i64: return reader.read<std::int64_t>(what);
    case GgufType::f64: return reader.read<double>(what);
    case GgufType::string: return std::string(gguf_string(reader, what));
    case GgufType::boolean: {
      const auto value = reader.read<std::uint8_t>(what);
      if (value > 1) fail(ErrorCode::malformed, reader.where(), ": ", what, " is a boolean of value ", value);
      return value == 1;
    }
    case GgufType::array: break;
  }
  fail(ErrorCode::malformed, reader.where(), ": ", what, " has the unknown type ", static_cast<std::uint32_t>(type));
}

inline GgufArray gguf_array(ByteReader& reader, std::span<const std::byte> file, const std::string& what) {
  const auto type = static_cast<GgufType>(reader.read<std::uint32_t>(what));
  const auto claimed = reader.read<std::uint64_t>(what);
  const std::size_t element_bytes = gguf_type_bytes(type);
  if (element_bytes == 0 && type != GgufType::string) {
    fail(ErrorCode::malformed, reader.where(), ": ", what, " is an array of type ", static_cast<std::uint32_t>(type),
         "; arrays hold numbers, booleans or strings");
  }
  const std::size_t smallest = type == GgufType::string ? sizeof(std::uint64_t) : element_bytes;
  const std::size_t count = reader.count(claimed, smallest, "the length of " + what);
  if (type != GgufType::string) return {type, count, reader.take(count * element_bytes, what)};
  const std::size_t begin = reader.position();
  for (std::size_t i = 0; i < count; ++i) gguf_string(reader, what);
  return {type, count, file.subspan(begin, reader.position() - begin)};
}

inline void read_gguf_metadata(ByteReader& reader, std::span<const std::byte> bytes, std::size_t count,
                               GgufFile& file) {
  constexpr std::size_t longest_key = 65535;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key(gguf_string(reader, "a metadata key"));
    const std::string what = "metadata " + quoted_name(key);
    if (key.empty() || key.size() > longest_key) {
      fail(ErrorCode::malformed, file.where, ": a metadata key has ", key.size(), " bytes; 1 to 65535 are allowed");
    }
    if (file.metadata.contains(key) || file.arrays.contains(key)) {
      fail(ErrorCode::malformed, file.where, ": ", what, " appears twice");
    }
    const auto type = static_cast<GgufType>(reader.read<std::uint32_t>(what));
    if (type == GgufType::array) {
      file.arrays.emplace(key, gguf_array(reader, bytes, what));
    } else {
      file.metadata[key] = gguf_scalar(reader, type, what);
    }
  }
}

/// One entry of the tensor list. Its place is set by the caller: the data begins after the whole list.
struct GgufTensorEntry {
  EncodedTensor tensor;
  std::uint64_t offset = 0;  ///< from the start of the data
  std::size_t bytes = 0;
};

inline GgufTensorEntry read_gguf_tensor_entry(ByteReader& reader) {
  constexpr std::size_t longest_name = 63, highest_rank = 4;
  GgufTensorEntry entry;
  EncodedTensor& tensor = entry.tensor;
  tensor.name = gguf_string(reader, "a tensor name");
  const std::string what = std::string(reader.where()) + ": tensor " + quoted_name(tensor.name);
  if (tensor.name.empty() || tensor.name.size() > longest_name) {
    fail(ErrorCode::malformed, what, ": a name has 1 to ", longest_name, " bytes");
  }
  const auto rank = reader.read<std::uint32_t>(what);
  if (rank > highest_rank) fail(ErrorCode::malformed, what, " has ", rank, " dimensions; 4 are the most");
  std::size_t elements = 1;
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    const auto extent = reader.read<std::uint64_t>(what);
    if (extent > SIZE_MAX) fail(ErrorCode::malformed, what, " is too large");
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::size_t>(extent));  // GGUF has the fastest axis first
    elements = checked_multiply(elements, static_cast<std::size_t>(extent), what);
  }
  const auto id = reader.read<std::uint32_t>(what);
  const auto dtype = ggml_dtype(id);
  const bool is_block = dtype && dtype_info(*dtype).block_elements > 1;
  if (!dtype || (is_block && find_encoding(*dtype) == nullptr)) {
    fail(ErrorCode::unsupported, what, " has type ",
         dtype ? std::string(dtype_name(*dtype)) : "number " + std::to_string(id), "; convert the file to one of ",
         encoding_names());
  }
  tensor.dtype = *dtype;
  const std::size_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  dtype_bytes(tensor.dtype, columns, what);  // blocks do not cross rows
  entry.bytes = dtype_bytes(tensor.dtype, elements, what);
  entry.offset = reader.read<std::uint64_t>(what);
  return entry;
}

inline std::size_t gguf_alignment(const GgufFile& file) {
  const auto found = file.metadata.find("general.alignment");
  if (found == file.metadata.end()) return 32;
  if (!found->is_number_unsigned() || !std::has_single_bit(found->get<std::uint64_t>()) ||
      found->get<std::uint64_t>() > UINT32_MAX) {
    fail(ErrorCode::malformed, file.where, ": \"general.alignment\" is no power of two");
  }
  return found->get<std::size_t>();
}

inline void read_gguf_tensors(ByteReader& reader, std::uint64_t file_size, std::size_t count, GgufFile& file) {
  std::vector<GgufTensorEntry> entries;
  std::set<std::string_view> names;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    entries.push_back(read_gguf_tensor_entry(reader));
    if (!names.insert(entries.back().tensor.name).second) {
      fail(ErrorCode::malformed, file.where, ": tensor ", quoted_name(entries.back().tensor.name), " appears twice");
    }
  }
  const std::size_t data_begin = round_up(reader.position(), file.alignment);
  std::size_t next = 0;  // where the next tensor must begin, from data_begin
  for (GgufTensorEntry& entry : entries) {
    const std::string what = file.where + ": tensor " + quoted_name(entry.tensor.name);
    if (entry.offset != next) {
      fail(ErrorCode::malformed, what, " begins at byte ", entry.offset, " of the data where byte ", next,
           " must be next");
    }
    const std::size_t end = checked_add(checked_add(data_begin, next, what), entry.bytes, what);
    if (end > file_size) {
      fail(ErrorCode::malformed, what, " ends at byte ", end, ", the file at ", file_size, "; is the file complete?");
    }
    entry.tensor.file_offset = end - entry.bytes;
    next = round_up(next + entry.bytes, file.alignment);
    file.tensors.push_back(std::move(entry.tensor));
  }
}

}  // namespace detail

namespace detail {

/// Everything before the tensor list. `tensor_count` is set to what the header claims.
inline GgufFile read_gguf_head(ByteReader& reader, std::span<const std::byte> bytes, std::uint64_t& tensor_count) {
  constexpr std::size_t smallest_pair = 14;  // a key of 1 byte and a u8
  if (reader.text(4, "the magic number") != "GGUF") fail(ErrorCode::malformed, reader.where(), " is no GGUF file");
  GgufFile file;
  file.where = reader.where();
  file.version = reader.read<std::uint32_t>("the version");
  if (file.version != 0 && (file.version & 0xFFFF) == 0) {
    fail(ErrorCode::unsupported, file.where, " is a big-endian GGUF file; convert the model to a little-endian one");
  }
  if (file.version != 2 && file.version != 3) {
    fail(ErrorCode::unsupported, file.where, " has GGUF version ", file.version, "; versions 2 and 3 are read");
  }
  tensor_count = reader.read<std::uint64_t>("the number of tensors");
  const auto pairs = reader.read<std::uint64_t>("the number of metadata entries");
  const std::size_t pair_count = reader.count(pairs, smallest_pair, "the number of metadata entries");
  read_gguf_metadata(reader, bytes, pair_count, file);
  file.alignment = gguf_alignment(file);
  return file;
}

}  // namespace detail

/// Reads the metadata of a GGUF file and leaves its tensors alone, whatever their types. `head`: the file's first
/// bytes.
/// Errors: as `parse_gguf`.
inline GgufFile parse_gguf_metadata(std::span<const std::byte> head, std::uint64_t file_size, std::string_view where) {
  detail::ByteReader reader(head, file_size, where);
  std::uint64_t tensor_count = 0;
  return detail::read_gguf_head(reader, head, tensor_count);
}
inline GgufFile parse_gguf_metadata(std::span<const std::byte> bytes, std::string_view where) {
  return parse_gguf_metadata(bytes, bytes.size(), where);
}

/// Reads the metadata and the tensor list at the head of a GGUF file and checks both against the file's length. The
/// tensors' bytes are left empty. Errors: as `parse_gguf`.
inline GgufFile parse_gguf_head(std::span<const std::byte> head, std::uint64_t file_size, std::string_view where) {
  constexpr std::size_t smallest_tensor = 25;  // a name of 1 byte, rank 0
  detail::ByteReader reader(head, file_size, where);
  std::uint64_t claimed = 0;
  GgufFile file = detail::read_gguf_head(reader, head, claimed);
  detail::read_gguf_tensors(reader, file_size, reader.count(claimed, smallest_tensor, "the number of tensors"), file);
  return file;
}

/// The same of a whole file, with its tensors' bytes.
/// Errors: malformed where the format's rules are broken, unsupported for another version, big-endian files and tensor
/// types that are not read; `where` names the file in messages.
inline GgufFile parse_gguf(std::span<const std::byte> bytes, std::string_view where) {
  GgufFile file = parse_gguf_head(bytes, bytes.size(), where);
  for (EncodedTensor& tensor : file.tensors) {
    tensor.bytes = bytes.subspan(static_cast<std::size_t>(tensor.file_offset), tensor.size_bytes());
  }
  return file;
}

}  // namespace tulle
