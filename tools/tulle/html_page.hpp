// SPDX-License-Identifier: Apache-2.0
/// \file Pages that need nothing but themselves: text, tables, and charts as inline SVG; light and dark.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text_table.hpp"

/// `text` with the characters that HTML gives a meaning written as entities.
std::string html_escaped(const std::string& text);

/// The first row is the heading, the first column names the rows. Wide tables scroll.
std::string html_table(const TableRows& rows, const std::string& caption);

/// `value` is the figure as text.
struct Bar {
  std::string name, value;
  double median, min, max;
};

/// Horizontal bars from zero, and for those with a spread a line from the minimum to the maximum. The first bar is the
/// model's, in another color. `id` is unique on the page.
std::string bar_chart(const std::string& id, const std::string& title, const std::vector<Bar>& bars);

/// A chart and its figures as a table.
std::string bar_section(const std::string& id, const std::string& title, const std::vector<Bar>& bars);

/// A whole page: heading, facts, and `body`, which is HTML.
std::string html_page(const std::string& title, const std::string& heading,
                      const std::vector<std::pair<std::string, std::string>>& facts, const std::string& body);
