// SPDX-License-Identifier: Apache-2.0
/// \file Models whose packed weights are kept in files, so that they start at once (L4).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/core/content_hash.hpp>
#include <tulle/core/environment.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/gguf_part_name.hpp>
#include <tulle/format/packed_file.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// Where the packed weights of a model are kept.
struct PackedCache {
  /// "" or "off": nowhere. "on": a file of the user's own folder (`packed_folder`), which is made where there is none or
  /// the model has changed. "auto": the same for models of 200 MB and more. Else a file that `tulle pack` made.
  std::string where;
  bool verify = false;  ///< a file is hashed before it is used; without it only its index is

  static constexpr std::uint64_t auto_bytes = 200'000'000;
  static constexpr std::uint64_t max_bytes = 32'000'000'000;  ///< of all files in the folder; the oldest are removed
};

/// ${XDG_CACHE_HOME:-~/.cache}/tulle/packed; "" where there is no home.
inline std::filesystem::path packed_folder() {
  const std::filesystem::path caches = user_cache_folder();
  return caches.empty() ? caches : caches / "tulle" / "packed";
}

namespace detail {

inline std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// Whether a model may be read from a file of this name. Packed weights, prompt caches, logs and texts beside it are no
/// part of it. `any_name`: an ONNX model's other tensors may lie in a file of any name.
inline bool is_file_of_model(const std::filesystem::path& path, bool any_name) {
  const std::string extension = path.extension().string();
  if (any_name) return extension != ".packed" && extension != ".part";
  constexpr std::array<std::string_view, 4> known{".safetensors", ".gguf", ".bin", ".json"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

/// The files that a model at `path` may consist of: a GGUF file and its other parts, or a folder's files.
inline std::vector<std::filesystem::path> files_of_model(const std::filesystem::path& path) {
  const bool is_folder = std::filesystem::is_directory(path);
  const auto part = parse_gguf_part_name(path.filename().string());
  if (!is_folder && path.extension() != ".safetensors" && !(part && part->count > 1)) return {path};
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = is_folder ? path : path.parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  const bool any_name =
      std::any_of(files.begin(), files.end(), [](const auto& each) { return each.extension() == ".onnx"; });
  std::erase_if(files, [&](const auto& each) { return !is_file_of_model(each, any_name); });
  std::sort(files.begin(), files.end());
  return files;
}

/// Tells a file from another, and from itself once it was written again: path, size, time, inode, and a hash of its
/// first MiB and of 64 blocks spread over it.
inline void add_file(std::uint64_t& hash, const std::filesystem::path& path) {
  const MappedFile file(path.string());
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) fail(ErrorCode::io, "cannot read ", path.string());
  const auto time = std::filesystem::last_write_time(path).time_since_epoch().count();
  const std::uint64_t numbers[] = {file.bytes().size(), static_cast<std::uint64_t>(time),
                                   static_cast<std::uint64_t>(status.st_ino),
                                   static_cast<std::uint64_t>(status.st_dev)};
  hash = content_hash(std::filesystem::canonical(path).string(), hash);
  hash = content_hash(std::as_bytes(std::span(numbers)), hash);
  constexpr std::size_t head = std::size_t{1} << 20, blocks = 64, block = 4096;
  const auto bytes = file.bytes();
  hash = content_hash(bytes.first(std::min(head, bytes.size())), hash);
  for (std::size_t i = 1; i <= blocks && bytes.size() > head; ++i) {
    const std::size_t end = head + (bytes.size() - head) / blocks * i;
    hash = content_hash(bytes.subspan(end - std::min(block, end), std::min(block, end)), hash);
  }
}

}  // namespace detail

/// Names the state of a model's files. Errors: io, not_found.
inline std::uint64_t model_state(const std::string& path) {
  try {
    std::uint64_t hash = 0;
    for (const auto& file : detail::files_of_model(path)) detail::add_file(hash, file);
    return hash;
  } catch (const std::filesystem::filesystem_error& error) {
    fail(ErrorCode::io, "cannot read ", path, ": ", error.code().message());
  }
}

/// Names how weights are packed: this library's layout, the kernel, the instruction set.
inline std::string packed_layout(const PackOptions& pack) {
  return std::to_string(kept_weights_version) + " " + std::string(pack.kernel) + " " + std::to_string(pack.int4_group) +
         " " + std::string(instruction_set_name(active_instruction_set())) + " " + std::to_string(sizeof(void*));
}

/// The key of a packed file: of what it was packed, and how. Errors: io, not_found.
inline std::string packed_key(const std::string& path, const PackOptions& pack) {
  return packed_layout(pack) + " " + detail::hex(model_state(path));
}

namespace detail {

/// The file of a model in the user's folder: one for each way of packing it.
inline std::filesystem::path packed_file_in(const std::filesystem::path& folder, const std::string& path,
                                            const PackOptions& pack) {
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path);
  return folder /
         (whole.filename().string() + "-" + hex(content_hash(whole.string() + " " + packed_layout(pack))) + ".packed");
}

/// Whether nobody but the user can have written a file.
inline bool is_own_file(const std::filesystem::path& path) noexcept {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Removes the files that were not used for the longest time until `needed` bytes more fit under the limit, and what
/// writers that ended too early left.
inline void make_room(const std::filesystem::path& folder, std::uint64_t needed) {
  using Clock = std::filesystem::file_time_type::clock;
  struct Kept {
    std::filesystem::file_time_type used;
    std::uint64_t bytes;
    std::filesystem::path path;
  };
  std::vector<Kept> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Kept file{entry.last_write_time(ignored), entry.file_size(ignored), entry.path()};
    const std::string extension = entry.path().extension().string();
    if (extension == ".part" && file.used < Clock::now() - std::chrono::hours(1)) {
      std::filesystem::remove(file.path, ignored);
    }
    if (extension == ".packed") files.push_back(file);
  }
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
  std::uint64_t sum = needed;
  for (const Kept& file : files) {
    sum += file.bytes;
    if (sum > PackedCache::max_bytes) std::filesystem::remove(file.path, ignored);
  }
}

/// Keeps the weights in the user's folder where that can be done.
inline void keep_packed(const std::filesystem::path& file, const std::string& key, const KeptMatrices& kept) noexcept {
  try {
    std::uint64_t bytes = 0;
    for (const auto& [name, matrix] : kept.matrices) {
      for (const auto& array : matrix.arrays) bytes += array.size();
    }
    if (bytes > PackedCache::max_bytes) return;
    const std::filesystem::path folder = file.parent_path();
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    std::filesystem::remove(file);  // it was of no use
    make_room(folder, bytes);
    if (std::filesystem::space(folder).available < bytes + bytes / 4) return;
    write_packed_file(file.string(), key, kept);
  } catch (const std::exception&) {
    // A full disk or a folder that cannot be written: the next start packs again.
  }
}

}  // namespace detail

/// Loads a model as `Model::load` does, over packed weights where `cache` has them; where it keeps them and has none,
/// they are written once the model is loaded. Errors: those of `Model::load`; malformed, not_found and io for a file
/// that `cache` names and that was not packed from this model; invalid_argument for such a file and adapters.
template <class Kernel>
std::shared_ptr<const Model<Kernel>> load_packed(const Checkpoint& checkpoint, const PackOptions& pack,
                                                 const PackedCache& cache, const Progress& progress = {},
                                                 std::size_t threads = 0) {
  const auto load = [&](std::shared_ptr<const KeptMatrices> kept) {
    return Model<Kernel>::load(checkpoint, pack, progress, threads, std::move(kept));
  };
  const bool chooses = cache.where == "auto", in_folder = cache.where == "on" || chooses;
  const bool names_file = !cache.where.empty() && cache.where != "off" && !in_folder;
  if (names_file && !checkpoint.adapters().empty()) {
    fail(ErrorCode::invalid_argument, "packed weights of ", cache.where,
         " hold no adapters; leave the file or the adapters out");
  }
  if (cache.where.empty() || cache.where == "off" || !checkpoint.adapters().empty() ||
      (chooses && checkpoint.size_bytes() < PackedCache::auto_bytes)) {
    return load(nullptr);
  }
  check_instruction_set();
  if (names_file) return load(read_packed_file(cache.where, packed_key(checkpoint.path(), pack), cache.verify));
  const std::filesystem::path folder = packed_folder();
  std::error_code missing;
  if (folder.empty() || !std::filesystem::exists(checkpoint.path(), missing)) return load(nullptr);
  std::string key;
  std::filesystem::path file;
  std::shared_ptr<const KeptMatrices> kept;
  try {
    file = detail::packed_file_in(folder, checkpoint.path(), pack);
    key = packed_key(checkpoint.path(), pack);
    if (detail::is_own_file(file)) {
      kept = read_packed_file(file.string(), key, cache.verify);
      (void)::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // used now
    }
  } catch (const Error&) {
    // It is packed again, whatever is wrong with it. What is wrong with the model is found by loading it.
  } catch (const std::filesystem::filesystem_error&) {
  }
  auto model = load(kept);
  if (kept != nullptr || key.empty()) return model;
  if (progress) progress("keeping packed weights", 0);
  try {
    if (packed_key(checkpoint.path(), pack) == key) detail::keep_packed(file, key, kept_weights(model->weights()));
  } catch (const Error&) {
    // The model's file is gone meanwhile; what was loaded is whole.
  }
  return model;
}

}  // namespace tulle
