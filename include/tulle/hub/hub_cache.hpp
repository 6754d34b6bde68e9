// SPDX-License-Identifier: Apache-2.0
/// \file The folder of one repository in the hub's cache: refs, blobs, snapshots (L4).
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/hub/hub_files.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/hub/hub_settings.hpp>

namespace tulle::detail {

/// An exclusive lock that processes take by a file, as the hub's own tools do. Where a file system has no locks there is
/// none.
class FileLock {
 public:
  /// Waits for the process that has it; `progress` is called with `what` then. Errors: what `progress` throws.
  FileLock(const std::string& path, const Progress& progress, const std::string& what)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    try {
      while (file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (progress) progress(what, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    } catch (...) {
      ::close(file_);
      throw;
    }
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  int file_;
};

/// models--org--name/{refs/REVISION, blobs/ETAG, snapshots/COMMIT/FILE}, as huggingface_hub lays it out: a ref holds a
/// commit, a file of a snapshot is a relative link to a blob.
class HubCache {
 public:
  HubCache(const std::string& cache, const std::string& repository) : cache_(cache) {
    name_ = "models--" + repository;
    if (const std::size_t slash = name_.find('/'); slash != std::string::npos) name_.replace(slash, 1, "--");
    folder_ = cache_ / name_;
  }

  /// The commit that `revision` was when it was last looked up; "" where that is not known.
  std::string commit_of(const std::string& revision) const {
    if (is_commit(revision)) return revision;
    const std::string commit = first_word(folder_ / "refs" / revision);
    return is_commit(commit) ? commit : "";
  }

  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  std::filesystem::path part(const std::string& etag) const { return folder_ / "blobs" / (etag + ".incomplete"); }

  FileLock lock(const std::string& etag, const Progress& progress, const std::string& what) const {
    const std::filesystem::path folder = cache_ / ".locks" / name_;
    make_folder(folder);
    make_folder(folder_ / "blobs");
    return {(folder / (etag + ".lock")).string(), progress, what};
  }

  /// Every file of a snapshot whose blob is there, with its folders.
  HubNames files_of(const std::string& commit) const {
    HubNames names;
    const std::filesystem::path root = snapshot(commit);
    std::error_code error;
    std::filesystem::recursive_directory_iterator entry(root, error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) names.insert(entry->path().lexically_relative(root).generic_string());
    }
    return names;
  }

  /// Errors: io.
  void set_commit(const std::string& revision, const std::string& commit) const {
    if (is_commit(revision) || commit_of(revision) == commit) return;
    const std::filesystem::path ref = folder_ / "refs" / revision;
    make_folder(ref.parent_path());
    const std::string written = unique(ref);
    write_file(written, commit);
    rename(written, ref);
  }

  /// The file of a snapshot that is the blob. Where a file system has no links, it becomes the blob. Errors: io.
  void link(const std::string& commit, const std::string& file, const std::string& etag) const {
    const std::filesystem::path path = snapshot(commit) / file;
    make_folder(path.parent_path());
    const std::string made = unique(path);
    std::error_code error;
    std::filesystem::create_symlink(blob(etag).lexically_relative(path.parent_path()), made, error);
    rename(error ? blob(etag) : std::filesystem::path(made), path);
  }

  /// Errors: io.
  static void rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::error_code error;
    std::filesystem::rename(from, to, error);
    if (error) fail(ErrorCode::io, "cannot rename ", from.string(), " to ", to.string(), ": ", error.message());
  }

 private:
  /// A name beside `path` that no other thread or process takes.
  static std::string unique(const std::filesystem::path& path) {
    static std::atomic<unsigned> number = 0;
    return path.string() + "." + std::to_string(::getpid()) + "." + std::to_string(number++) + ".tmp";
  }

  static void make_folder(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) fail(ErrorCode::io, "cannot make the folder ", path.string(), ": ", error.message());
  }

  std::filesystem::path cache_, folder_;
  std::string name_;
};

}  // namespace tulle::detail
