// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/near_names.hpp>

namespace {

const CLI::App& chosen_command(const CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? program : *chosen.front();
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

/// Only a text may be empty: an empty path or name would count as none.
void refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_type_name() != "TEXT" && std::find(values.begin(), values.end(), "") != values.end()) {
      throw UsageError(option->get_name() + " must not be empty");
    }
  }
}

int usage_error(const CLI::App& program, std::string message) {
  std::string command = program.get_name();
  for (const CLI::App* chosen : program.get_subcommands()) command += " " + chosen->get_name();
  if (message.ends_with('.')) message.pop_back();
  return report_error(2, message + (message.ends_with('?') ? " See '" : "; see '") + command + " --help'");
}

/// What of the command line is not known, and the known names that are near.
std::string unknown_argument(const CLI::App& program) {
  const CLI::App& command = chosen_command(program);
  const std::vector<std::string> rest = program.remaining(true);
  const auto is_flag = [](const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; };
  const auto flag = std::find_if(rest.begin(), rest.end(), is_flag);
  const bool names_command = !command.get_subcommands({}).empty() && !is_flag(rest.front());
  std::vector<std::string> known;
  std::string argument, kind;
  if (names_command) {
    argument = rest.front();
    kind = "unknown subcommand ";
    for (const CLI::App* each : command.get_subcommands({})) known.push_back(each->get_name());
  } else if (flag != rest.end()) {
    argument = flag->substr(0, flag->find('='));
    kind = "unknown flag ";
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (name.find('_') == std::string::npos) known.push_back("--" + name);
      }
    }
  } else {
    return "unexpected argument " + rest.front();
  }
  std::string dashed = argument;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string near = tulle::detail::near_names(dashed, names);
  return kind + argument + (near.empty() ? "" : "; did you mean " + near + "?");
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
    refuse_empty_values(chosen_command(program));
    return run();
  } catch (const CLI::Success& done) {
    const int status = program.exit(done);
    return std::cout.flush() ? status : report_error(1, "cannot write to standard output");
  } catch (const CLI::ExtrasError&) {
    return usage_error(program, unknown_argument(program));
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

CLI::Validator no_nan() {
  const auto check = [](std::string& text) {
    double value = 0;
    const bool is_nan = CLI::detail::lexical_cast(text, value) && std::isnan(value);
    return is_nan ? "Value " + text + " is not a number" : std::string();
  };
  return {check, ""};
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  if (is_positional || option->get_lnames().empty()) return Formatter::make_option_name(option, is_positional);
  std::string name = "--" + option->get_lnames().front();
  return option->get_snames().empty() ? name : "-" + option->get_snames().front() + "," + name;
}
