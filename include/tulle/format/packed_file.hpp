// SPDX-License-Identifier: Apache-2.0
/// \file Packed weights in a file, which is mapped and used as it lies there (L3).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/core/content_hash.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/huge_pages.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/kernel/kept_weights.hpp>

namespace tulle {

/// The beginning of the file. Then the arrays follow, each from a multiple of 64 on and with at least 64 bytes behind
/// it, then the index: {"key": text, "matrices": {name: {"kernel", "numbers", "arrays": [[begin, bytes, hash], ...]}}}.
struct PackedFileHeader {
  static constexpr std::array<char, 8> expected_magic = {'t', 'u', 'l', 'l', 'e', '.', 'p', 'k'};
  static constexpr std::uint64_t current_version = 2;

  std::array<char, 8> magic = expected_magic;
  std::uint64_t version = current_version;
  std::uint64_t file_bytes = 0;
  std::uint64_t index_begin = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t index_hash = 0;
  std::array<std::uint64_t, 2> unused = {};
};
static_assert(sizeof(PackedFileHeader) == 64);
static_assert(std::endian::native == std::endian::little, "packed files are little-endian");

/// Writes matrices that were packed from what `key` says (see `packed_key`). Errors: io; memory;
/// invalid_argument where a file of another kind has that name.
inline void write_packed_file(const std::string& path, const std::string& key, const KeptMatrices& kept) {
  constexpr std::size_t alignment = 64;
  require_replaceable(path, PackedFileHeader::expected_magic);
  PackedFileHeader header;
  std::uint64_t at = sizeof header;
  Json matrices = Json::object();
  for (const auto& [name, matrix] : kept.matrices) {
    Json arrays = Json::array();
    for (const auto& array : matrix.arrays) {
      arrays.push_back({at, array.size(), content_hash(array)});
      at = round_up(static_cast<std::size_t>(at) + array.size() + alignment, alignment);
    }
    matrices[name] = {{"kernel", matrix.kernel}, {"numbers", matrix.numbers}, {"arrays", std::move(arrays)}};
  }
  const std::string index =
      Json{{"key", key}, {"matrices", std::move(matrices)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  header.index_begin = at;
  header.index_bytes = index.size();
  header.index_hash = content_hash(index);
  header.file_bytes = at + index.size();

  OutputFile file(path, OutputFile::Readers::owner);
  file.write(std::as_bytes(std::span(&header, 1)));
  constexpr std::byte slack[alignment] = {};
  for (const auto& [name, matrix] : kept.matrices) {
    for (const auto& array : matrix.arrays) {
      file.write(array);
      file.write(slack);
      file.pad(alignment);
    }
  }
  file.write(index);
  file.finish();
}

namespace detail {

/// Arrays of an index, checked against the file.
inline KeptMatrix read_kept_matrix(const Json& entry, std::span<const std::byte> file, bool verify) {
  KeptMatrix matrix{entry.at("kernel").get<std::string>(), entry.at("numbers").get<std::vector<std::uint64_t>>(), {}};
  for (const Json& array : entry.at("arrays")) {
    const auto [begin, bytes, hash] = array.get<std::array<std::uint64_t, 3>>();
    constexpr std::uint64_t alignment = 64;
    const bool inside = begin % alignment == 0 && begin <= file.size() && bytes <= file.size() - begin &&
                        alignment <= file.size() - begin - bytes;
    if (!inside) fail(ErrorCode::malformed, "an array lies outside of it");
    matrix.arrays.push_back(file.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes)));
    if (verify && content_hash(matrix.arrays.back()) != hash) fail(ErrorCode::malformed, "its contents have changed");
  }
  return matrix;
}

}  // namespace detail

/// Maps a file whose key is `key`. `verify`: all of it is read and hashed; otherwise the arrays are only used where
/// `weights_over` finds them sound. Errors: those of `MappedFile`; malformed for any other file.
inline std::shared_ptr<const KeptMatrices> read_packed_file(const std::string& path, const std::string& key,
                                                            bool verify = false) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::span<const std::byte> bytes = file->bytes();
  PackedFileHeader header;
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::malformed, path, " cannot be used: ", why, "; make it again with tulle pack");
  };
  if (bytes.size() < sizeof header) refuse("it is no file of packed weights");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != PackedFileHeader::expected_magic) refuse("it is no file of packed weights");
  if (header.version != PackedFileHeader::current_version) refuse("it is of another version");
  if (header.file_bytes != bytes.size() || header.index_begin < sizeof header || header.index_begin > bytes.size() ||
      header.index_bytes != bytes.size() - header.index_begin) {
    refuse("it is not complete");
  }
  const auto index_bytes = bytes.subspan(static_cast<std::size_t>(header.index_begin));
  if (content_hash(index_bytes) != header.index_hash) refuse("its index has changed");
  auto kept = std::make_shared<KeptMatrices>();
  try {
    const std::string_view text(reinterpret_cast<const char*>(index_bytes.data()), index_bytes.size());
    const Json index = parse_json(text, path);
    if (index.at("key") != key) fail(ErrorCode::malformed, "it was packed from another model or for another machine");
    for (const auto& [name, entry] : index.at("matrices").items()) {
      kept->matrices.emplace(name, detail::read_kept_matrix(entry, bytes, verify));
    }
  } catch (const Error& error) {
    refuse(error.what());
  } catch (const Json::exception&) {
    refuse("its index is malformed");
  }
  HugePages::advise(const_cast<std::byte*>(bytes.data()), bytes.size());
  kept->memory = file;
  return kept;
}

}  // namespace tulle
