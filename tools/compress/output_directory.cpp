// SPDX-License-Identifier: Apache-2.0
#include "output_directory.hpp"

#include <system_error>
#include <tulle/core/error.hpp>
#include <tulle/format/output_file.hpp>

#include "tools/tulle/streams.hpp"

namespace {

std::string begun_file(const std::string& directory) {
  return work_directory(directory) + "/writing";
}

std::string report_file(const std::string& directory) {
  return directory + "/compression.json";
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::filesystem::path plain_path(const std::string& path) {
  std::filesystem::path plain = std::filesystem::path(path).lexically_normal();
  if (plain.filename() == "." || plain.filename() == "..") plain = std::filesystem::absolute(plain).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

std::string work_directory(const std::string& directory) {
  return directory + ".unfinished";
}

void begin_output(const std::string& directory) {
  tulle::write_file(begun_file(directory), "");
  std::error_code error;
  std::filesystem::remove(report_file(directory), error);  // of what is being replaced
}

void remove_finished_work(const std::string& directory) {
  std::error_code error;
  if (has_report(directory) && exists(begun_file(directory))) {
    std::filesystem::remove_all(work_directory(directory), error);
  }
}

void require_writable(const std::string& directory, bool force) {
  if (!exists(directory)) return;
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    tulle::fail(tulle::ErrorCode::invalid_argument, directory, " is no directory; give another one");
  }
  if (force || exists(begun_file(directory))) return;
  tulle::remove_left_parts(directory);
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().filename() == "speeds.json") continue;  // that a plan is to use
    tulle::fail(tulle::ErrorCode::invalid_argument, directory, " is not empty; give another directory, or --force");
  }
}

bool has_report(const std::string& directory) {
  return exists(report_file(directory));
}

std::optional<tulle::Json> finished_report(const std::string& directory, const std::string& settings) {
  if (!has_report(directory)) return std::nullopt;
  const std::string file = report_file(directory);
  tulle::Json report = tulle::parse_json(read_file(file), file);
  if (!report.is_object() || report.value("settings", tulle::Json()) != settings) return std::nullopt;
  if (!exists(directory + "/model.safetensors")) return std::nullopt;
  return report;
}
