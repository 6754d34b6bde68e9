// SPDX-License-Identifier: Apache-2.0
/// \file Rows of blocks written as hexadecimal digits, for tests of encodings.
#pragma once

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle::testing {

inline std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// The values of one row, which must be those that its codes, scales and minimums stand for.
inline std::vector<float> decoded_row(const RowEncoding& encoding, const std::vector<std::byte>& bytes,
                                      std::size_t columns) {
  REQUIRE(bytes.size() == dtype_bytes(encoding.dtype, columns, "x"));
  std::vector<float> values(columns);
  encoding.decode(bytes.data(), columns, values.data());
  if (encoding.format.bits == 0) return values;
  const std::size_t groups = encoding.format.groups(columns);
  std::vector<std::int8_t> codes(columns);
  std::vector<float> scales(groups), minimums(groups);
  encoding.codes(bytes.data(), columns, codes.data(), scales.data(), minimums.data());
  const int lowest = encoding.format.has_minimums ? 0 : -(1 << (encoding.format.bits - 1));
  for (std::size_t i = 0; i < columns; ++i) {
    REQUIRE((codes[i] >= lowest && codes[i] < lowest + (1 << encoding.format.bits)));
    const float product = scales[i / encoding.format.group] * static_cast<float>(codes[i]);
    REQUIRE(values[i] == (encoding.format.has_minimums ? product + minimums[i / encoding.format.group] : product));
  }
  return values;
}

inline std::vector<float> decoded_row(const RowEncoding& encoding, const std::string& hex, std::size_t columns) {
  return decoded_row(encoding, from_hex(hex), columns);
}

}  // namespace tulle::testing
