// SPDX-License-Identifier: Apache-2.0
/// \file The `tulle` command. Exit status: 0 done, 1 an error, 2 an invalid command line, 130 Ctrl-C.
#include <array>
#include <csignal>
#include <memory>

#include "command_line.hpp"
#include "interrupt.hpp"

namespace {

constexpr const char* footer = R"(Examples:
  tulle generate --model SmolLM2-135M-Instruct.Q4_1.gguf --prompt "def fibonacci(n):"
  tulle chat --model SmolLM2-135M-Instruct.Q4_1.gguf --temperature 0.7
  tulle inspect --model models/llama-8b

'tulle SUBCOMMAND --help' lists the flags of a subcommand. In the names of flags _ may stand for -.)";

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): flags that throw as they are declared are a defect of ours
int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_DFL);  // the reader of our output has closed it: end silently
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches its limit: an error of the write
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
                            export_command(program),     pack_command(program),     serve_command(program)};
  const auto run = [&] {
    for (const Command& command : commands) {
      if (command.flags->parsed()) return command.run();
    }
    throw UsageError("a subcommand is required");
  };
  return run_program(program, count, arguments, run,
                     "use a smaller model, --sequence-length or --prompt-sequence-length");
}
