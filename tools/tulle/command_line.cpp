// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>
#include <vector>

namespace {

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

int usage_error(const CLI::App& program, std::string message) {
  std::string command = program.get_name();
  for (const CLI::App* chosen : program.get_subcommands()) command += " " + chosen->get_name();
  if (message.ends_with('.')) message.pop_back();
  return report_error(2, message + "; see '" + command + " --help'");
}

}  // namespace

int report_error(int status, std::string message) {
  for (char& letter : message) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  std::fprintf(stderr, "tulle: %s\n", message.c_str());
  return status;
}

int run_program(CLI::App& program, int count, char** arguments, const std::function<int()>& run,
                const std::string& memory_advice) {
  try {
    program.parse(reversed_arguments(count, arguments));
    return run();
  } catch (const CLI::Success& done) {
    return program.exit(done);
  } catch (const CLI::ParseError& error) {
    return usage_error(program, error.what());
  } catch (const UsageError& error) {
    return usage_error(program, error.what());
  } catch (const std::bad_alloc&) {
    return report_error(1, "out of memory; " + memory_advice);
  } catch (const std::exception& error) {
    return report_error(1, error.what());
  }
}

std::string flag_names(std::string_view names) {
  std::string all(names);
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (name.find('-', 2) == std::string_view::npos) continue;
    std::string underscored(name);
    std::replace(underscored.begin() + 2, underscored.end(), '-', '_');
    all += "," + underscored;
  }
  return all;
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  if (is_positional || option->get_lnames().empty()) return Formatter::make_option_name(option, is_positional);
  std::string name = "--" + option->get_lnames().front();
  return option->get_snames().empty() ? name : "-" + option->get_snames().front() + "," + name;
}
