// SPDX-License-Identifier: Apache-2.0
/// \file The safetensors container: u64 header length, JSON header, data (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/heap_sort.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

inline DType safetensors_dtype(const std::string& name, const std::string& tensor) {
  constexpr std::array readable{DType::f64, DType::f32, DType::f16, DType::bf16,    DType::i64,     DType::i32,
                                DType::i16, DType::i8,  DType::u8,  DType::boolean, DType::f8_e4m3, DType::f8_e5m2};
  for (const DType dtype : readable) {
    if (dtype_name(dtype) == name) return dtype;
  }
  fail(ErrorCode::unsupported, tensor, " has dtype ", quoted_name(name), "; convert it to F32, F16, BF16 or I8");
}

/// One entry of the header: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}.
/// Its offset is from the start of the data, which has `data_size` bytes.
inline EncodedTensor safetensors_entry(const std::string& name, const Json& entry, std::uint64_t data_size,
                                       std::string_view where) {
  constexpr std::size_t highest_rank = 8;  // the format has no limit; models have at most 5
  const std::string tensor = std::string(where) + ": tensor " + quoted_name(name);
  const auto field = [&](const char* key) -> const Json& {
    const auto found = entry.find(key);
    if (found == entry.end()) fail(ErrorCode::malformed, tensor, " has no \"", key, "\"");
    return *found;
  };
  const auto sizes = [&](const char* key) {
    const Json& list = field(key);
    const auto is_size = [](const Json& value) { return value.is_number_unsigned(); };
    if (!list.is_array() || list.size() > highest_rank || !std::all_of(list.begin(), list.end(), is_size)) {
      fail(ErrorCode::malformed, tensor, ": \"", key, "\" is no list of at most ", highest_rank, " sizes");
    }
    std::vector<std::size_t> values;
    for (const Json& value : list) {
      const auto size = value.get<std::uint64_t>();
      if (size > SIZE_MAX) fail(ErrorCode::malformed, tensor, ": \"", key, "\" is too large");
      values.push_back(static_cast<std::size_t>(size));
    }
    return values;
  };
  if (!field("dtype").is_string()) fail(ErrorCode::malformed, tensor, ": \"dtype\" is no string");

  EncodedTensor result{name, safetensors_dtype(field("dtype").get<std::string>(), tensor), sizes("shape"), {}};
  const std::vector<std::size_t> offsets = sizes("data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_size) {
    fail(ErrorCode::malformed, tensor, ": \"data_offsets\" are no range of the ", data_size, " bytes of data",
         "; is the file complete?");
  }
  std::size_t elements = 1;
  for (const std::size_t extent : result.shape) elements = checked_multiply(elements, extent, tensor);
  const std::size_t bytes = dtype_bytes(result.dtype, elements, tensor);
  if (offsets[1] - offsets[0] != bytes) {
    fail(ErrorCode::malformed, tensor, " has ", offsets[1] - offsets[0], " bytes where its shape and dtype need ",
         bytes);
  }
  result.file_offset = offsets[0];
  return result;
}

/// "__metadata__" maps strings to strings.
inline void check_safetensors_metadata(const Json& metadata, std::string_view where) {
  const auto is_text = [](const Json& value) { return value.is_string(); };
  if (!metadata.is_object() || !std::all_of(metadata.begin(), metadata.end(), is_text)) {
    fail(ErrorCode::malformed, where, ": \"__metadata__\" is no map from strings to strings");
  }
}

}  // namespace detail

/// The tensors that the head of a safetensors file lists, in the order of their data; their bytes are left empty.
/// Errors: as `parse_safetensors`.
inline std::vector<EncodedTensor> parse_safetensors_head(std::span<const std::byte> head, std::uint64_t file_size,
                                                         std::string_view where) {
  constexpr std::uint64_t longest_header = 100'000'000;  // the reference implementation's limit
  detail::ByteReader reader(head, file_size, where);
  const auto header_bytes = reader.read<std::uint64_t>("the header's length");
  if (header_bytes > longest_header) {
    fail(ErrorCode::malformed, where, ": a header of ", header_bytes, " bytes is over the limit of ", longest_header,
         "; is this a safetensors file?");
  }
  const std::string_view header = reader.text(header_bytes, "the header");
  if (!header.starts_with('{')) fail(ErrorCode::malformed, where, ": the header does not begin with '{'");
  const Json entries = detail::parse_json_object(header, where);

  std::vector<EncodedTensor> tensors;
  for (const auto& entry : entries.items()) {
    if (entry.key() == "__metadata__") {
      detail::check_safetensors_metadata(entry.value(), where);
    } else {
      tensors.push_back(detail::safetensors_entry(entry.key(), entry.value(), reader.remaining(), where));
    }
  }

  heap_sort(tensors, [](const EncodedTensor& a, const EncodedTensor& b) {
    return std::tuple(a.file_offset, a.size_bytes()) < std::tuple(b.file_offset, b.size_bytes());
  });
  std::uint64_t end = 0;
  for (EncodedTensor& tensor : tensors) {
    if (tensor.file_offset != end) {
      fail(ErrorCode::malformed, where, ": tensor ", detail::quoted_name(tensor.name), " begins at byte ",
           tensor.file_offset, " of the data where byte ", end, " must be next (a hole or an overlap)");
    }
    end += tensor.size_bytes();
    tensor.file_offset += reader.position();
  }
  if (end != reader.remaining()) {
    fail(ErrorCode::malformed, where, ": ", reader.remaining() - end, " bytes follow the last tensor");
  }
  return tensors;
}

/// The tensors of a safetensors file, in the order of their data. Any alignment; zero-size tensors and rank 0 are
/// legal. Errors: malformed where the format's rules are broken (the data must be covered by the tensors without a hole
/// or an overlap), unsupported for a dtype that is not read; `where` names the file in messages. Lifetime: the bytes of
/// the tensors are views into `file`.
inline std::vector<EncodedTensor> parse_safetensors(std::span<const std::byte> file, std::string_view where) {
  std::vector<EncodedTensor> tensors = parse_safetensors_head(file, file.size(), where);
  for (EncodedTensor& tensor : tensors) {
    tensor.bytes = file.subspan(static_cast<std::size_t>(tensor.file_offset), tensor.size_bytes());
  }
  return tensors;
}

}  // namespace tulle
