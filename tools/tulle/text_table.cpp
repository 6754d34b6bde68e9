// SPDX-License-Identifier: Apache-2.0
#include "text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

std::string text_table(const TableRows& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += " ";
    for (std::size_t column = 0; column < row.size(); ++column) {
      text += " " + row[column];
      if (column + 1 < row.size()) text.append(widths[column] - row[column].size() + 1, ' ');
    }
    text += "\n";
  }
  return text;
}

std::string markdown_text(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (std::string_view("\\`*|<[").find(letter) != std::string_view::npos) escaped += '\\';
    escaped += letter == '\n' ? ' ' : letter;
  }
  return escaped;
}

std::string markdown_table(const TableRows& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += "|";
    for (const std::string& cell : row) text.append(" ").append(markdown_text(cell)).append(" |");
    text += "\n";
    if (&row != &rows.front()) continue;
    text += "|";
    for (std::size_t column = 0; column < row.size(); ++column) text += "---|";
    text += "\n";
  }
  return text;
}
