// SPDX-License-Identifier: Apache-2.0
/// \file What a GGUF file holds: metadata, arrays, tensors (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/gguf_types.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// A metadata array as the file holds it: checked, but not decoded, because a vocabulary has 10^5 entries and most
/// readers of a file need none of them. Lifetime: a view into the file.
struct GgufArray {
  GgufType type = GgufType::u8;
  std::size_t count = 0;
  std::span<const std::byte> bytes;
};

/// The contents of a GGUF file. Lifetime: arrays and tensors are views into the bytes that were parsed.
struct GgufFile {
  std::string where;  ///< names the file in messages
  std::uint32_t version = 3;
  std::size_t alignment = 32;
  Json metadata = Json::object();  ///< the scalar values; strings are the file's bytes, whatever their encoding
  std::map<std::string, GgufArray, std::less<>> arrays;
  std::vector<EncodedTensor> tensors;  ///< GGUF names; shapes outermost first, [rows, columns]

  /// The elements of a metadata array; empty where the file has no such key.
  /// Errors: malformed when the key holds something else.
  std::vector<std::string> strings(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;

 private:
  const GgufArray* array(std::string_view key) const;
};

namespace detail {

/// u64 length, then so many bytes.
inline std::string_view gguf_string(ByteReader& reader, std::string_view what) {
  return reader.text(reader.read<std::uint64_t>(what), what);
}

}  // namespace detail

inline const GgufArray* GgufFile::array(std::string_view key) const {
  if (metadata.contains(key))
    fail(ErrorCode::malformed, where, ": metadata ", detail::quoted_name(key), " is no array");
  const auto found = arrays.find(key);
  return found == arrays.end() ? nullptr : &found->second;
}

inline std::vector<std::string> GgufFile::strings(std::string_view key) const {
  std::vector<std::string> values;
  const GgufArray* source = array(key);
  if (source == nullptr) return values;
  if (source->type != GgufType::string) {
    fail(ErrorCode::malformed, where, ": metadata ", detail::quoted_name(key), " holds no strings");
  }
  detail::ByteReader reader(source->bytes, where);
  values.reserve(source->count);
  for (std::size_t i = 0; i < source->count; ++i) values.emplace_back(detail::gguf_string(reader, key));
  return values;
}

inline std::vector<float> GgufFile::floats(std::string_view key) const {
  std::vector<float> values;
  const GgufArray* source = array(key);
  if (source == nullptr) return values;
  if (source->type != GgufType::f32 && source->type != GgufType::f64) {
    fail(ErrorCode::malformed, where, ": metadata ", detail::quoted_name(key), " holds no floating-point numbers");
  }
  detail::ByteReader reader(source->bytes, where);
  values.reserve(source->count);
  for (std::size_t i = 0; i < source->count; ++i) {
    values.push_back(source->type == GgufType::f32 ? reader.read<float>(key)
                                                   : static_cast<float>(reader.read<double>(key)));
  }
  return values;
}

inline std::vector<std::int64_t> GgufFile::integers(std::string_view key) const {
  std::vector<std::int64_t> values;
  const GgufArray* source = array(key);
  if (source == nullptr) return values;
  detail::ByteReader reader(source->bytes, where);
  values.reserve(source->count);
  for (std::size_t i = 0; i < source->count; ++i) {
    switch (source->type) {
      case GgufType::boolean:
      case GgufType::u8: values.push_back(reader.read<std::uint8_t>(key)); break;
      case GgufType::i8: values.push_back(reader.read<std::int8_t>(key)); break;
      case GgufType::u16: values.push_back(reader.read<std::uint16_t>(key)); break;
      case GgufType::i16: values.push_back(reader.read<std::int16_t>(key)); break;
      case GgufType::u32: values.push_back(reader.read<std::uint32_t>(key)); break;
      case GgufType::i32: values.push_back(reader.read<std::int32_t>(key)); break;
      case GgufType::u64: values.push_back(static_cast<std::int64_t>(reader.read<std::uint64_t>(key))); break;
      case GgufType::i64: values.push_back(reader.read<std::int64_t>(key)); break;
      default: fail(ErrorCode::malformed, where, ": metadata ", detail::quoted_name(key), " holds no integers");
    }
  }
  return values;
}

}  // namespace tulle
