// SPDX-License-Identifier: Apache-2.0
#include "evaluate_text.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "formatted.hpp"
#include "text_table.hpp"

namespace {

/// "mean_nll" as "mean nll".
std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string number_text(const nlohmann::ordered_json& value) {
  if (value.is_number_float()) return formatted("%.6g", value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "not a number" : value.dump();
}

/// Two digits, or whole numbers; empty where it is not known.
std::string error_text(const nlohmann::ordered_json& error) {
  if (error.is_null()) return "";
  const auto value = error.get<double>();
  if (!std::isfinite(value)) return "";
  return " +- " + (value < 100 ? formatted("%.2g", value) : formatted("%.0f", value));
}

void add_numbers(const nlohmann::ordered_json& report, const std::string& prefix, TableRows& rows) {
  constexpr std::string_view suffix = "_standard_error";
  for (const auto& [name, value] : report.items()) {
    if (value.is_array() || name.ends_with(suffix)) continue;
    if (value.is_object()) {
      add_numbers(value, name + " ", rows);
      continue;
    }
    std::string text = number_text(value);
    const auto error = report.find(name + std::string(suffix));
    if (error != report.end()) text += error_text(*error);
    // How a model relates to its reference is not a property of the reference.
    const bool relation = name == "perplexity_ratio" || name == "kl" || name == "same_top";
    rows.push_back({spaced((relation ? "" : prefix) + name), text});
  }
}

}  // namespace

std::string evaluation_text(const nlohmann::ordered_json& report) {
  TableRows rows;
  add_numbers(report, "", rows);
  return text_table(rows);
}
