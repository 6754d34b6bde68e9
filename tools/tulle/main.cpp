// SPDX-License-Identifier: Apache-2.0
/// \file The `tulle` command. Exit status: 0 done, 1 an error, 2 an invalid command line, 130 Ctrl-C.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "interrupt.hpp"

namespace {

constexpr const char* footer = R"(Examples:
  tulle generate --model SmolLM2-135M-Instruct.Q4_1.gguf --prompt "def fibonacci(n):"
  tulle chat --model SmolLM2-135M-Instruct.Q4_1.gguf --temperature 0.7
  tulle inspect --model models/llama-8b

'tulle SUBCOMMAND --help' lists the flags of a subcommand. In the names of flags _ may stand for -.)";

/// One line on stderr, whatever the message holds.
int report(int status, std::string message) {
  for (char& letter : message) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  std::fprintf(stderr, "tulle: %s\n", message.c_str());
  return status;
}

int usage_error(const CLI::App& program, std::string message) {
  std::string command = "tulle";
  for (const CLI::App* chosen : program.get_subcommands()) command += " " + chosen->get_name();
  if (message.ends_with('.')) message.pop_back();
  return report(2, message + "; see '" + command + " --help'");
}

/// The arguments as CLI11 takes them, the last one first. It reads "--flag=" as a flag without a value; here the value
/// is empty.
std::vector<std::string> reversed_arguments(int count, char** arguments) {
  std::vector<std::string> reversed;
  for (int i = count - 1; i > 0; --i) {
    std::string argument = arguments[i];
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      reversed.emplace_back();
      argument.pop_back();
    }
    reversed.push_back(std::move(argument));
  }
  return reversed;
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_DFL);  // the reader of our output has closed it: end silently
  end_on_interrupt();

  CLI::App program("Text from sparse, quantized language models.", "tulle");
  program.formatter(std::make_shared<HelpFormatter>());
  program.footer(footer);
  program.set_version_flag("--version", "tulle " TULLE_VERSION, "Print the version and exit");
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.require_subcommand(0, 1);
  const std::array commands{generate_command(program),   chat_command(program),     tokenize_command(program),
                            detokenize_command(program), logits_command(program),   inspect_command(program),
                            benchmark_command(program),  evaluate_command(program), compress_command(program),
                            export_command(program),     serve_command(program)};
  try {
    program.parse(reversed_arguments(count, arguments));
    for (const Command& command : commands) {
      if (command.flags->parsed()) return command.run();
    }
    throw UsageError("a subcommand is required");
  } catch (const CLI::Success& done) {
    return program.exit(done);
  } catch (const CLI::ParseError& error) {
    return usage_error(program, error.what());
  } catch (const UsageError& error) {
    return usage_error(program, error.what());
  } catch (const std::bad_alloc&) {
    return report(1, "out of memory; use a smaller model, --sequence-length or --prompt-sequence-length");
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}
