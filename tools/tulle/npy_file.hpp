// SPDX-License-Identifier: Apache-2.0
/// \file A NumPy file of a float32 matrix, written row by row.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

/// NumPy format 1.0 (numpy/lib/format.py): little-endian, C order, a header padded to a multiple of 64 bytes.
/// A file that is not `finish`ed is removed again. Errors: io, of every member.
class NpyFile {
 public:
  NpyFile(std::string path, std::size_t rows, std::size_t columns);
  ~NpyFile();
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  void append(std::span<const float> row);
  void finish();

 private:
  void write(const void* bytes, std::size_t count);

  std::string path_;
  std::FILE* file_;
};
