// SPDX-License-Identifier: Apache-2.0
/// \file gzip files without compression, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tulle::test {

/// One member of stored blocks (RFC 1951, 3.2.4; RFC 1952, 2.3).
inline std::string stored_gzip(std::string_view text) {
  const auto put = [](std::string& bytes, std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  };
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char letter : text) {
    crc ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0xEDB88320 : 0);
  }
  std::string file("\x1F\x8B\x08\0\0\0\0\0\0\xFF", 10);
  std::string_view rest = text;
  do {
    const std::string_view block = rest.substr(0, 0xFFFF);
    rest.remove_prefix(block.size());
    put(file, rest.empty() ? 1 : 0, 1);
    put(file, static_cast<std::uint32_t>(block.size()), 2);
    put(file, ~static_cast<std::uint32_t>(block.size()), 2);
    file += block;
  } while (!rest.empty());
  put(file, ~crc, 4);
  put(file, static_cast<std::uint32_t>(text.size()), 4);
  return file;
}

}  // namespace tulle::test
