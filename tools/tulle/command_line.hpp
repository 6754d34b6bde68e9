// SPDX-License-Identifier: Apache-2.0
/// \file The include of CLI11 for the programs (cli11.cpp holds its definitions), and the interface of a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

/// A subcommand: its flags, and its action after they are parsed. `run` returns the exit status.
struct Command {
  CLI::App* flags;
  std::function<int()> run;
};

Command generate_command(CLI::App& program);
Command chat_command(CLI::App& program);
Command tokenize_command(CLI::App& program);
Command detokenize_command(CLI::App& program);
Command logits_command(CLI::App& program);
Command inspect_command(CLI::App& program);
Command benchmark_command(CLI::App& program);
Command evaluate_command(CLI::App& program);
Command compress_command(CLI::App& program);
Command export_command(CLI::App& program);
Command pack_command(CLI::App& program);
Command serve_command(CLI::App& program);

/// An invalid command line, found after CLI11 has read it: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "tulle: MESSAGE" on stderr, in one line whatever the message holds. Returns `status`.
int report_error(int status, std::string message);

/// Parses the arguments of a program and calls `run`, whose status is returned. An error becomes a line on stderr and a
/// status: 1, or 2 for an invalid command line. `memory_advice`: what to do when memory runs out.
int run_program(CLI::App& program, int count, char** arguments, const std::function<int()>& run,
                const std::string& memory_advice);

/// The names of a flag, with each name also spelled with underscores: "--top-k" becomes "--top-k,--top_k".
std::string flag_names(std::string_view names);

/// Refuses NaN, which CLI::Range accepts.
CLI::Validator no_nan();

/// For numbers from `min` to `max`; help does not show the range.
template <class Number>
CLI::Validator in_range(Number min, Number max) {
  return (CLI::Range(min, max) & no_nan()).description("");
}

/// Help that shows only the first long name of a flag.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
};
