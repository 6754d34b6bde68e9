// SPDX-License-Identifier: Apache-2.0
#include "npy_file.hpp"

#include <bit>
#include <utility>

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

NpyFile::NpyFile(std::string path, std::size_t rows, std::size_t columns) : file_(std::move(path), FileKind::npy) {
  using std::string_literals::operator""s;
  const std::string shape = std::to_string(rows) + ", " + std::to_string(columns);
  std::string header = "\x93NUMPY\x01\x00??{'descr': '<f4', 'fortran_order': False, 'shape': ("s + shape + "), }";
  header.append(63 - header.size() % 64, ' ');
  header += '\n';
  header[8] = static_cast<char>((header.size() - 10) & 0xFF);
  header[9] = static_cast<char>((header.size() - 10) >> 8);
  file_.append(std::as_bytes(std::span(header)));
}
