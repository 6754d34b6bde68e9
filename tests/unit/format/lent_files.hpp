// SPDX-License-Identifier: Apache-2.0
/// \file The files of a directory, or one file, as a caller would lend them: read piece by piece, counted.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/format/model_files.hpp>

namespace tulle::test {

/// `bytes`, where it is given, counts what is read of all files together.
inline GivenFiles lent_files(const std::string& path, std::size_t* bytes = nullptr) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) paths.push_back(entry.path());
  } else {
    paths.emplace_back(path);
  }
  std::vector<GivenFiles::File> files;
  for (const auto& each : paths) {
    auto stream = std::make_shared<std::ifstream>(each, std::ios::binary);
    files.push_back({each.filename().string(), std::filesystem::file_size(each),
                     [stream, bytes](std::uint64_t offset, std::span<std::byte> out) {
                       stream->seekg(static_cast<std::streamoff>(offset));
                       stream->read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
                       if (!*stream) fail(ErrorCode::io, "the lent file is shorter than it said");
                       if (bytes != nullptr) *bytes += out.size();
                     }});
  }
  return GivenFiles(std::move(files));
}

}  // namespace tulle::test
