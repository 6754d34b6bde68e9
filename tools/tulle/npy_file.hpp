// SPDX-License-Identifier: Apache-2.0
/// \file A NumPy file of a float32 matrix, written row by row.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "new_file.hpp"

/// NumPy format 1.0 (numpy/lib/format.py): little-endian, C order, a header padded to a multiple of 64 bytes.
/// A file that is not `finish`ed is not there, and a file of that name stays. Errors: those of `NewFile`.
class NpyFile {
 public:
  NpyFile(std::string path, std::size_t rows, std::size_t columns);

  void append(std::span<const float> row) { file_.append(std::as_bytes(row)); }
  void finish() { file_.finish(); }

 private:
  NewFile file_;
};
