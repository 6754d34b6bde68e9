// SPDX-License-Identifier: Apache-2.0
/// \file Rows of blocks written as hexadecimal digits, for tests of encodings.
#pragma once

#include <bit>
#include <catch2/catch_all.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/format/encoding/file_rows.hpp>

#include "unit/generate/golden_model.hpp"

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
  const std::size_t per_row = encoding.format.scales_per_row(columns);
  std::vector<std::int8_t> codes(columns);
  std::vector<float> scales(per_row), minimums(per_row);
  encoding.codes(bytes.data(), columns, codes.data(), scales.data(), minimums.data());
  for (const std::vector<float>* numbers : {&scales, &minimums}) {
    for (std::size_t i = 0; i < per_row && encoding.format.block != 0; ++i) {
      const bool is_factor = i < encoding.format.groups(columns);
      const float number = (*numbers)[i];
      REQUIRE(number == (is_factor ? static_cast<float>(static_cast<std::int8_t>(number)) : to_float(to_half(number))));
    }
  }
  encoding.format.multiply_out(scales.data(), columns);
  if (encoding.format.has_minimums) encoding.format.multiply_out(minimums.data(), columns);
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

/// Random blocks of tests/golden/make_blocks.py must decode to the bits that gguf-py 0.19 makes of them.
inline void check_golden_blocks(const RowEncoding& encoding, const std::string& name) {
  CAPTURE(name);
  const MappedFile file(TULLE_GOLDEN "/models/gguf/" + name + ".blocks.bin");
  const std::vector<std::byte> blocks(file.bytes().begin(), file.bytes().end());
  const std::vector<float> expected = golden_floats("models/gguf/" + name + ".values.npy");
  const DTypeInfo& info = dtype_info(encoding.dtype);
  REQUIRE(expected.size() == blocks.size() / info.block_bytes * info.block_elements);
  const std::vector<float> values = decoded_row(encoding, blocks, expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i, values[i], expected[i]);
    REQUIRE(std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(expected[i]));
  }
}

}  // namespace tulle::testing
