// SPDX-License-Identifier: Apache-2.0
/// \file The directory that `tulle compress` writes: its name, what may lie in it, what tells that it is done.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <tulle/core/json.hpp>

/// Without "." and a slash at its end, so that its name is its last part.
std::filesystem::path plain_path(const std::string& path);

/// The directory in which a compression that writes `directory` keeps what it has done so far.
std::string work_directory(const std::string& directory);

/// Removes `work_directory(directory)` of a run that was killed when its report stood and only that was left to do.
void remove_finished_work(const std::string& directory);

/// Says in `work_directory(directory)`, which exists, that from now on files are written to `directory`. Errors: io.
void begin_output(const std::string& directory);

/// Errors: invalid_argument for what is no directory, and for one that holds something, unless `force`. A plan's speeds
/// do not count, nor what an interrupted compression wrote.
void require_writable(const std::string& directory, bool force);

/// Whether some compression wrote `directory` and was done.
bool has_report(const std::string& directory);

/// The report of a compression with the same settings that wrote `directory`, where there is one.
std::optional<tulle::Json> finished_report(const std::string& directory, const std::string& settings);

/// Text that may be written whatever bytes the names of files have.
template <class AnyJson>
std::string json_text(const AnyJson& json) {
  return json.dump(2, ' ', false, AnyJson::error_handler_t::replace) + "\n";
}
