// SPDX-License-Identifier: Apache-2.0
/// \file Hand-made protobuf messages, for ONNX files that no exporter would write.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "unit/format/file_builder.hpp"

namespace tulle::test {

inline void put_varint(Bytes& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) put(bytes, static_cast<std::uint8_t>(number | 0x80));
  put(bytes, static_cast<std::uint8_t>(number));
}

inline Bytes joined(const std::vector<Bytes>& parts) {
  Bytes bytes;
  for (const Bytes& part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

inline Bytes field(std::uint64_t number, std::uint64_t value) {
  Bytes bytes;
  put_varint(bytes, number << 3);
  put_varint(bytes, value);
  return bytes;
}

/// A message, or bytes.
inline Bytes field(std::uint64_t number, const Bytes& content) {
  Bytes bytes;
  put_varint(bytes, number << 3 | 2);
  put_varint(bytes, content.size());
  return joined({bytes, content});
}

inline Bytes field(std::uint64_t number, std::string_view text) {
  return field(number, to_bytes(text));
}

/// A TensorProto of the graph. `data`: the field of its elements.
inline Bytes onnx_tensor(std::string_view name, std::uint64_t type, const std::vector<std::uint64_t>& extents,
                         const Bytes& data) {
  Bytes tensor = field(8, name);
  for (const std::uint64_t extent : extents) tensor = joined({tensor, field(1, extent)});
  return field(5, joined({tensor, field(2, type), data}));
}

inline Bytes external_data(std::string_view location, std::string_view offset, std::string_view length) {
  const auto entry = [](std::string_view key, std::string_view value) {
    return field(13, joined({field(1, key), field(2, value)}));
  };
  return joined({field(14, 1), entry("location", location), entry("offset", offset), entry("length", length)});
}

/// A NodeProto of the graph. `more`: attributes, or a domain.
inline Bytes onnx_node(std::string_view name, std::string_view op, const std::vector<std::string_view>& inputs,
                       std::string_view output, const Bytes& more = {}) {
  Bytes node = joined({field(3, name), field(4, op), field(2, output), more});
  for (const std::string_view input : inputs) node = joined({node, field(1, input)});
  return field(1, node);
}

/// The ModelProto of a graph's parts.
inline Bytes onnx_file(const std::vector<Bytes>& graph) {
  return joined({field(1, 8), field(7, joined(graph))});
}

}  // namespace tulle::test
