// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>

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
