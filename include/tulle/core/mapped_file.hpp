// SPDX-License-Identifier: Apache-2.0
/// \file A whole file as read-only bytes, mapped into memory where the system can (L0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)  // its mmap is a copy
#define TULLE_HAS_MMAP 1
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#endif

namespace tulle {

/// Read-only bytes of a file. The file must not be shortened while it is mapped.
/// Errors: not_found or io when it cannot be opened, io when it is not a regular file, memory when it cannot be held.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);

  MappedFile(MappedFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        owned_(std::move(other.owned_)),
        mapped_(std::exchange(other.mapped_, false)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(owned_, other.owned_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

  /// Releases the pages that are wholly inside `part` from memory; they are loaded again when read.
  void release(std::span<const std::byte> part) const noexcept;

 private:
  std::span<const std::byte> bytes_;
  std::vector<std::byte> owned_;  // where files are read, not mapped
  bool mapped_ = false;
};

#if defined(TULLE_HAS_MMAP)

inline MappedFile::MappedFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer: refused below
  if (file < 0) {
    fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot open ", path, ": ", std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    fail(ErrorCode::io, path, " is not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    ::close(file);
    return;
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  ::close(file);
  if (address == MAP_FAILED) fail(ErrorCode::memory, "cannot map ", path, ": ", std::strerror(error));
  bytes_ = {static_cast<const std::byte*>(address), size};
  mapped_ = true;
}

inline MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

inline void MappedFile::release(std::span<const std::byte> part) const noexcept {
  if (!mapped_) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

#else

inline MappedFile::MappedFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail(ErrorCode::not_found, "cannot open ", path);
  std::fseek(file, 0, SEEK_END);
  const long size = std::ftell(file);
  std::fseek(file, 0, SEEK_SET);
  if (size > 0) owned_.resize(static_cast<std::size_t>(size));
  const std::size_t read = owned_.empty() ? 0 : std::fread(owned_.data(), 1, owned_.size(), file);
  std::fclose(file);
  if (size < 0 || read != owned_.size()) fail(ErrorCode::io, "cannot read ", path);
  bytes_ = owned_;
}

inline MappedFile::~MappedFile() = default;

inline void MappedFile::release(std::span<const std::byte>) const noexcept {}

#endif

}  // namespace tulle
