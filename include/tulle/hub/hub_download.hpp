// SPDX-License-Identifier: Apache-2.0
/// \file From the hub into its cache: room, resumption, verification (L4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/hub/file_digest.hpp>
#include <tulle/hub/hub_cache.hpp>
#include <tulle/hub/hub_client.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/hub/hub_settings.hpp>

namespace tulle::detail {

/// Bytes that arrive, behind those of an earlier try: blobs/ETAG.incomplete.
class PartialFile {
 public:
  /// Errors: io.
  explicit PartialFile(std::filesystem::path path) : path_(std::move(path)) { open("ab"); }

  std::uint64_t size() const noexcept { return size_; }

  /// Errors: io.
  void write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail_io("write");
    size_ += bytes.size();
  }

  void clear() { open("wb"); }

  /// All bytes are in the file. Errors: io.
  void flush() {
    if (std::fflush(file_.get()) != 0) fail_io("write");
  }

  void remove() {
    file_.reset();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void open(const char* mode) {
    file_.reset();  // writes what it holds before the file is cleared
    file_.reset(std::fopen(path_.c_str(), mode));
    if (!file_) fail_io("open");
    std::error_code error;
    size_ = std::filesystem::file_size(path_, error);
    if (error) fail_io("read");
  }

  [[noreturn]] void fail_io(const char* what) const {
    fail(ErrorCode::io, "cannot ", what, " ", path_.string(), ": ", std::strerror(errno));
  }

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t size_ = 0;
};

class HubDownload {
 public:
  HubDownload(const HubModel& model, const HubSettings& settings, const Progress& progress)
      : model_(model),
        settings_(settings),
        progress_(progress),
        cache_(settings.cache, model.repository),
        client_(model, settings) {}

  HubClient& client() noexcept { return client_; }
  const HubCache& cache() const noexcept { return cache_; }

  /// Downloads the files of a commit that the cache lacks. Errors: io where the disk is too small, what a server sends is
  /// not what the hub promised, or connections end early again and again; those of `HubClient`; what the progress throws.
  void fetch(const std::string& commit, const std::vector<std::string>& names) {
    const HubNames present = cache_.files_of(commit);
    std::vector<HubFile> files;
    for (const std::string& name : names) {
      if (present.contains(name)) continue;
      if (progress_) progress_("asking for " + name, 0);
      files.push_back(client_.look_up(commit, name));
    }
    check_room(files);
    for (const HubFile& file : files) {
      const FileLock lock =
          cache_.lock(file.etag, progress_, "waiting for another process that downloads " + file.name);
      const std::string blob = cache_.blob(file.etag).string();
      std::error_code error;
      const bool is_there =
          std::filesystem::exists(blob, error) && (!file.size || std::filesystem::file_size(blob, error) == *file.size);
      if (!is_there) fetch_blob(commit, file);
      cache_.link(commit, file.name, file.etag);
      done_ += file.size.value_or(0);
    }
  }

 private:
  /// Also the sum that progress is a fraction of.
  void check_room(const std::vector<HubFile>& files) {
    std::uint64_t missing = 0;
    total_ = done_ = 0;
    for (const HubFile& file : files) {
      std::error_code none;
      const std::uint64_t size = file.size.value_or(0);
      const std::uintmax_t there = std::filesystem::exists(cache_.blob(file.etag), none)
                                       ? size
                                       : std::filesystem::file_size(cache_.part(file.etag), none);
      total_ += size;
      missing += none ? size : size - std::min<std::uint64_t>(size, there);
    }
    std::error_code error;
    std::filesystem::create_directories(settings_.cache, error);
    const std::filesystem::space_info space = std::filesystem::space(settings_.cache, error);
    if (!error && space.available < missing) {
      fail(ErrorCode::io, model_.text(), " needs ", missing >> 20, " MiB more in ", settings_.cache, ", which has ",
           space.available >> 20, " MiB free; name a folder on another disk in HF_HOME");
    }
  }

  void fetch_blob(const std::string& commit, const HubFile& file) {
    const std::filesystem::path path = cache_.part(file.etag);
    PartialFile part(path);
    receive(commit, file, part);
    part.flush();
    const std::uint64_t size = part.size();
    if (!has_etag(path.string(), size, file.etag, progress_, "verifying " + file.name)) {
      part.remove();
      fail(ErrorCode::malformed, model_.text(), ": ", quoted_name(file.name),
           " arrived with another content than the hub promised and was removed; try again");
    }
    HubCache::rename(path, cache_.blob(file.etag));
  }

  /// Until `part` is complete. A connection that ends early is followed by others, while they bring something.
  void receive(const std::string& commit, const HubFile& file, PartialFile& part) {
    constexpr int max_failures = 5;
    constexpr std::uint64_t progress_step = std::uint64_t{1} << 20;
    const std::uint64_t limit = file.size.value_or(std::uint64_t{64} << 20);  // without a size: a small file
    if (part.size() > limit) part.clear();
    for (int failures = 0; part.size() == 0 || part.size() != file.size;) {
      const std::uint64_t begin = part.size();
      if (begin == 0 && file.size == 0) return;
      bool is_first = true;
      HttpAnswer answer = client_.get(commit, file.name, begin, [&](const HttpAnswer& head, std::string_view piece) {
        if (std::exchange(is_first, false)) start_of_body(head, part);
        if (piece.size() > limit - std::min(limit, part.size())) refuse_size(file, part);
        part.write(piece);
        report("downloading " + file.name, part.size());
      });
      // Without a length every end looks like the right one.
      const bool is_cut = file.size && part.size() < *file.size && answer.header("Content-Length").empty();
      if (answer.is_ok() && is_cut && answer.failure.empty()) answer.failure = "it ended early";
      if (answer.is_ok() && answer.failure.empty()) {
        if (!file.size || part.size() == *file.size) return;
        refuse_size(file, part);
      }
      if (answer.status == 416) part.clear();
      if (part.size() >= begin + progress_step) failures = 0;
      if (!HubClient::is_passing(answer) || ++failures == max_failures) client_.refuse(answer, file.name);
      report("downloading " + file.name, part.size());
      std::this_thread::sleep_for(std::chrono::milliseconds(125 << failures));
    }
  }

  /// `bytes`: that are here of the file that comes.
  void report(const std::string& what, std::uint64_t bytes) const {
    if (!progress_) return;
    const double here = static_cast<double>(std::min(done_ + bytes, total_));
    progress_(what, total_ == 0 ? 0 : here / static_cast<double>(total_));
  }

  /// A server that does not resume sends the file from its first byte on.
  void start_of_body(const HttpAnswer& answer, PartialFile& part) const {
    if (answer.status == 200 && part.size() > 0) part.clear();
    const std::string from = "bytes " + std::to_string(part.size()) + "-";
    if (answer.status == 206 && !answer.header("Content-Range").starts_with(from)) {
      fail(ErrorCode::malformed, answer.url.origin, " sends another part of a file than the one that was asked for");
    }
  }

  [[noreturn]] void refuse_size(const HubFile& file, PartialFile& part) const {
    part.remove();
    fail(ErrorCode::malformed, model_.text(), ": ", quoted_name(file.name), " has another size than the hub promised (",
         file.size.value_or(0), " bytes); what arrived was removed; try again");
  }

  const HubModel& model_;
  const HubSettings& settings_;
  const Progress& progress_;
  HubCache cache_;
  HubClient client_;
  std::uint64_t total_ = 0, done_ = 0;  // bytes of the files that are fetched together
};

}  // namespace tulle::detail
