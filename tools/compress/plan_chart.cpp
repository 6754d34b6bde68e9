// SPDX-License-Identifier: Apache-2.0
#include "plan_chart.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tools/tulle/formatted.hpp"
#include "tools/tulle/html_page.hpp"

namespace {

/// The place of `name` in a list that grows.
std::size_t place_of(const std::string& name, std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

std::string form_color(std::size_t form, std::size_t forms) {
  return formatted("hsl(%zu 55%% %s)", form * 360 / std::max<std::size_t>(forms, 1), form % 2 == 0 ? "45%" : "62%");
}

}  // namespace

std::string plan_section(const CompressionReport& report) {
  const auto plan = report.find("plan");
  if (plan == report.end() || !plan->is_object()) return "";
  struct Cell {
    std::size_t layer, role, form;
    std::string title;
  };
  std::vector<Cell> cells;
  std::vector<std::string> roles, forms;
  std::size_t layers = 0;
  for (const CompressionReport& matrix : (*plan)["matrices"]) {
    const std::string name = matrix.value("name", ""), form = matrix.value("form", "");
    const auto [layer, role] = layer_and_role(name);
    const std::size_t role_place = place_of(role, roles), form_place = place_of(form, forms);
    cells.push_back({layer.value_or(0), role_place, form_place, name + ": " + form});
    layers = std::max(layers, layer.value_or(0) + 1);
  }
  constexpr double size = 22, left = 110, line = 20;
  const double width = std::max(left + size * static_cast<double>(layers), 420.0);
  const double legend = size * static_cast<double>(roles.size()) + 30;
  const double height = legend + line * static_cast<double>((forms.size() + 1) / 2);
  std::string html = "<section><h2>Form of each matrix</h2>\n<figure>\n";
  html += formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"plan-title\">\n", width, height) +
          "<title id=\"plan-title\">Form of each matrix, layers by matrices</title>\n";
  for (std::size_t role = 0; role < roles.size(); ++role) {
    html +=
        formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", left - 8, size * static_cast<double>(role) + 16) +
        html_escaped(roles[role]) + "</text>\n";
  }
  for (const Cell& cell : cells) {
    html += formatted("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" style=\"fill:",
                      left + size * static_cast<double>(cell.layer), size * static_cast<double>(cell.role), size - 2,
                      size - 2) +
            form_color(cell.form, forms.size()) + "\"><title>" + html_escaped(cell.title) + "</title></rect>\n";
  }
  html += formatted("<text x=\"%.0f\" y=\"%.0f\">layer 0 to %zu</text>\n", left, legend - 12,
                    std::max<std::size_t>(layers, 1) - 1);
  for (std::size_t form = 0; form < forms.size(); ++form) {
    const double x = 10 + 200 * static_cast<double>(form % 2), y = legend + line * static_cast<double>(form / 2);
    html += formatted("<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"14\" style=\"fill:", x, y) +
            form_color(form, forms.size()) + formatted("\"/><text x=\"%.0f\" y=\"%.0f\">", x + 20, y + 12) +
            html_escaped(forms[form]) + "</text>\n";
  }
  html +=
      "</svg>\n<figcaption>A column is a decoder layer; a pointer on a field shows its matrix.</figcaption></figure>\n";
  TableRows rows{{"forms", "bytes a weight", "decode speed over int8", "loss"}};
  const auto add = [&](const std::string& name, const CompressionReport& figures) {
    const auto bytes = report_number(figures, "bytes_per_weight"), speed = report_number(figures, "speedup");
    const auto loss = report_number(figures, "loss");
    rows.push_back({name, bytes ? formatted("%.3f", *bytes) : "-", speed ? formatted("%.2f", *speed) : "-",
                    loss ? formatted("%.4g", *loss) : "-"});
  };
  add("this plan", *plan);
  for (const CompressionReport& uniform : (*plan)["uniform"]) add(uniform.value("form", ""), uniform);
  return html + html_table(rows, "The plan beside each form in every matrix") + "</section>\n";
}
