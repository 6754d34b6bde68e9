// SPDX-License-Identifier: Apache-2.0
/// \file tulle compress and tulle serve: each hands over to a program of its own, so that the other subcommands need
/// not load what those need.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <tulle/core/error.hpp>
#include <vector>

#include "command_line.hpp"

namespace {

/// Beside this program; else the first on the PATH.
std::string find_program(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / name;
  return !error && std::filesystem::exists(beside, error) ? beside.string() : name;
}

int hand_over(const std::string& name, const char* needs, std::vector<std::string> words) {
  const std::string program = find_program(name);
  std::vector<char*> arguments{const_cast<char*>(program.c_str())};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(program.c_str(), arguments.data());
  tulle::fail(tulle::ErrorCode::unsupported, "cannot run ", program, ": ", std::strerror(errno), "; it is built where ",
              needs, " are found");
}

Command other_program(CLI::App& program, const std::string& name, const char* what, const char* needs) {
  CLI::App* app = program.add_subcommand(name, what);
  app->set_help_flag();  // the other program has the help
  app->prefix_command();
  return {app, [app, name, needs] { return hand_over("tulle-" + name, needs, app->remaining()); }};
}

}  // namespace

Command compress_command(CLI::App& program) {
  return other_program(program, "compress", "Make a sparse, quantized model out of a dense one",
                       "OpenBLAS, xtensor-blas and yaml-cpp");
}

Command serve_command(CLI::App& program) {
  return other_program(program, "serve", "Answer requests over HTTP: OpenAI's, Anthropic's and DeepSparse's routes",
                       "cpp-httplib, prometheus-cpp and yaml-cpp");
}
