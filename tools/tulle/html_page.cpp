// SPDX-License-Identifier: Apache-2.0
#include "html_page.hpp"

#include <algorithm>
#include <cstddef>

#include "formatted.hpp"

namespace {

constexpr const char* style = R"(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c1e21; --soft: #5a6068; --line: #d7dbe0; --model: #1f6f8b; --other: #9aa5b1;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e8eaed; --soft: #a6adb5; --line: #3a3f45; --model: #4fb3d4; --other: #69737d; }
}
body {
  margin: 2rem auto; padding: 0 1rem; max-width: 70rem;
  background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
}
h1, h2 { line-height: 1.2; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
section { display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: start; }
section h2 { flex: 0 0 100%; margin-bottom: .5rem; }
figure { flex: 1 1 28rem; margin: 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; }
.small {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .5rem 1.5rem; flex: 1 0 100%;
}
.small figcaption { color: var(--soft); }
.small figure { flex: none; }
details { flex: 1 0 100%; }
summary { cursor: pointer; }
svg { width: 100%; height: auto; }
svg text { fill: var(--ink); font: 14px system-ui, sans-serif; }
.model { fill: var(--model); }
.other { fill: var(--other); }
.held_out { stroke: var(--model); stroke-width: 2; fill: none; }
.calibration { stroke: var(--other); stroke-width: 2; stroke-dasharray: 5 4; fill: none; }
.spread { stroke: var(--ink); stroke-width: 1.5; fill: none; }
.axis { stroke: var(--line); }
)";

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

std::string html_table(const TableRows& rows, const std::string& caption) {
  std::string text = "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"" + html_escaped(caption) +
                     "\"><table><caption>" + html_escaped(caption) + "</caption>\n";
  for (const auto& row : rows) {
    const bool heading = &row == &rows.front();
    text += "<tr>";
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (heading) {
        text += "<th scope=\"col\">" + html_escaped(row[column]) + "</th>";
      } else if (column == 0) {
        text += "<th scope=\"row\">" + html_escaped(row[column]) + "</th>";
      } else {
        text += "<td>" + html_escaped(row[column]) + "</td>";
      }
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string bar_chart(const std::string& id, const std::string& title, const std::vector<Bar>& bars) {
  constexpr double label = 110, width = 360, row = 40, thick = 22;
  double longest = 0;
  std::string description;
  for (const Bar& bar : bars) {
    longest = std::max({longest, bar.median, bar.max});
    description += (description.empty() ? "" : "; ") + bar.name + " " + bar.value;
  }
  if (longest <= 0) longest = 1;
  const auto place = [&](double value) { return label + width * value / longest; };
  const double height = row * static_cast<double>(bars.size());
  std::string svg = formatted("<svg viewBox=\"0 0 700 %.0f\" role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n",
                              height, id.c_str(), id.c_str());
  svg += "<title id=\"" + id + "-title\">" + html_escaped(title) + "</title><desc id=\"" + id + "-desc\">" +
         html_escaped(description) + "</desc>\n";
  svg += formatted("<line class=\"axis\" x1=\"%.0f\" y1=\"0\" x2=\"%.0f\" y2=\"%.0f\"/>\n", label, label, height);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double top = row * static_cast<double>(i) + (row - thick) / 2, middle = top + thick / 2;
    svg += formatted("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", label - 8, middle + 5) +
           html_escaped(bar.name) + "</text>";
    svg += formatted("<rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>",
                     i == 0 ? "model" : "other", label, top, place(bar.median) - label, thick);
    if (bar.min < bar.max) {
      svg += formatted("<path class=\"spread\" d=\"M%.1f %.1fv10m0 -5H%.1fm0 -5v10\"/>", place(bar.min), middle - 5,
                       place(bar.max));
    }
    svg += formatted("<text x=\"%.1f\" y=\"%.1f\">", place(std::max(bar.median, bar.max)) + 8, middle + 5) +
           html_escaped(bar.value) + "</text>\n";
  }
  return svg + "</svg>\n";
}

std::string bar_section(const std::string& id, const std::string& title, const std::vector<Bar>& bars) {
  TableRows rows{{"", title}};
  for (const Bar& bar : bars) rows.push_back({bar.name, bar.value});
  return "<section><h2>" + html_escaped(title) + "</h2>\n<figure>\n" + bar_chart(id, title, bars) + "</figure>\n" +
         html_table(rows, title) + "</section>\n";
}

std::string html_page(const std::string& title, const std::string& heading,
                      const std::vector<std::pair<std::string, std::string>>& facts, const std::string& body) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      html_escaped(title) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n<main>\n<h1>" +
      html_escaped(heading) + "</h1>\n<dl>\n";
  for (const auto& [fact, what] : facts)
    page += "<dt>" + html_escaped(fact) + "</dt><dd>" + html_escaped(what) + "</dd>\n";
  return page + "</dl>\n" + body + "</main>\n</body>\n</html>\n";
}
