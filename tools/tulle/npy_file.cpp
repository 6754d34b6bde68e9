// SPDX-License-Identifier: Apache-2.0
#include "npy_file.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tulle/core/error.hpp>
#include <utility>

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

NpyFile::NpyFile(std::string path, std::size_t rows, std::size_t columns)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (file_ == nullptr) tulle::fail(tulle::ErrorCode::io, "cannot create ", path_, ": ", std::strerror(errno));
  using std::string_literals::operator""s;
  const std::string shape = std::to_string(rows) + ", " + std::to_string(columns);
  std::string header = "\x93NUMPY\x01\x00??{'descr': '<f4', 'fortran_order': False, 'shape': ("s + shape + "), }";
  header.append(63 - header.size() % 64, ' ');
  header += '\n';
  header[8] = static_cast<char>((header.size() - 10) & 0xFF);
  header[9] = static_cast<char>((header.size() - 10) >> 8);
  write(header.data(), header.size());
}

NpyFile::~NpyFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::error_code error;
  if (std::filesystem::is_regular_file(path_, error)) std::filesystem::remove(path_, error);
}

void NpyFile::append(std::span<const float> row) {
  write(row.data(), row.size_bytes());
}

void NpyFile::finish() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) {
    tulle::fail(tulle::ErrorCode::io, "cannot write ", path_, ": ", std::strerror(errno));
  }
}

void NpyFile::write(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file_) != count) {
    tulle::fail(tulle::ErrorCode::io, "cannot write ", path_, ": ", std::strerror(errno));
  }
}
