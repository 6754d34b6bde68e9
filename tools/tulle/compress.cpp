// SPDX-License-Identifier: Apache-2.0
/// \file tulle compress: hands over to the program tulle-compress, so that the other subcommands need not load what it
/// needs.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <tulle/core/error.hpp>
#include <vector>

#include "command_line.hpp"

namespace {

/// Beside this program; else the first on the PATH.
std::string compress_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "tulle-compress";
  return !error && std::filesystem::exists(beside, error) ? beside.string() : "tulle-compress";
}

int hand_over(std::vector<std::string> words) {
  const std::string program = compress_program();
  std::vector<char*> arguments{const_cast<char*>(program.c_str())};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(program.c_str(), arguments.data());
  tulle::fail(tulle::ErrorCode::unsupported, "cannot run ", program, ": ", std::strerror(errno),
              "; it is built where OpenBLAS, xtensor-blas and yaml-cpp are found");
}

}  // namespace

Command compress_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("compress", "Make a sparse, quantized model out of a dense one");
  app->set_help_flag();  // the other program has the help
  app->prefix_command();
  return {app, [app] { return hand_over(app->remaining()); }};
}
