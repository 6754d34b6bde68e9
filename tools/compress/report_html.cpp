// SPDX-License-Identifier: Apache-2.0
#include "report_html.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "plan_chart.hpp"
#include "tools/tulle/formatted.hpp"
#include "tools/tulle/html_page.hpp"

namespace {

/// The figures of one role, by decoder layer. A matrix outside of the layers is at 0.
struct RoleFigures {
  std::string role;
  std::vector<std::pair<std::size_t, double>> figures;
};

std::vector<RoleFigures> figures_by_role(const CompressionReport& report, const char* key) {
  std::vector<RoleFigures> roles;
  for (const CompressionReport& layer : report["layers"]) {
    const auto figure = report_number(layer, key);
    if (!figure) continue;
    const auto [index, role] = layer_and_role(layer.value("name", ""));
    auto found = std::find_if(roles.begin(), roles.end(), [&](const RoleFigures& each) { return each.role == role; });
    if (found == roles.end()) found = roles.insert(roles.end(), {role, {}});
    found->figures.emplace_back(index.value_or(0), *figure);
  }
  return roles;
}

std::string svg_begin(const std::string& id, const std::string& title, const std::string& description, double width,
                      double height) {
  return formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n", width, height,
                   id.c_str(), id.c_str()) +
         "<title id=\"" + id + "-title\">" + html_escaped(title) + "</title><desc id=\"" + id + "-desc\">" +
         html_escaped(description) + "</desc>\n";
}

/// How a chart writes its figures: printf's form, and what they are multiplied with.
struct FigureForm {
  const char* form;
  double scale;
  std::string text(double figure) const {
    char text[64];
    std::snprintf(text, sizeof text, form, figure * scale);
    return text;
  }
};

/// One small chart for each role, columns over the decoder layers, all to one scale.
std::string small_charts(const std::string& id, const std::string& title, const std::vector<RoleFigures>& roles,
                         const FigureForm& form) {
  constexpr double width = 300, height = 110, left = 64, bottom = 18, top = 8;
  double highest = 0;
  std::size_t layers = 1;
  for (const RoleFigures& role : roles) {
    for (const auto& [layer, figure] : role.figures) {
      highest = std::max(highest, figure);
      layers = std::max(layers, layer + 1);
    }
  }
  if (roles.empty()) return "";
  if (highest <= 0) highest = 1;
  const double step = (width - left) / static_cast<double>(layers), reach = height - bottom - top;
  std::string html = "<section><h2>" + html_escaped(title) + "</h2>\n<div class=\"small\">\n";
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const RoleFigures& role = roles[i];
    double sum = 0;
    for (const auto& [layer, figure] : role.figures) sum += figure;
    const std::string mean = form.text(sum / static_cast<double>(role.figures.size()));
    html += "<figure><figcaption>" + html_escaped(role.role) + ", mean " + mean + "</figcaption>\n";
    html += svg_begin(id + formatted("-%zu", i), role.role + ": " + title,
                      formatted("%zu decoder layers, mean ", role.figures.size()) + mean, width, height);
    html +=
        formatted("<path class=\"axis\" fill=\"none\" d=\"M%.0f %.0fV%.0fH%.0f\"/>", left, top, height - bottom, width);
    html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", left - 6, top + 8) + form.text(highest) +
            "</text>";
    html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">0</text>", left - 6, height - bottom);
    html += formatted("<text x=\"%.0f\" y=\"%.0f\">0</text>", left, height - 2);
    if (layers > 1) {
      html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%zu</text>", width, height - 2, layers - 1);
    }
    html += "\n";
    for (const auto& [layer, figure] : role.figures) {
      const double tall = reach * std::max(figure, 0.0) / highest;
      html +=
          formatted("<rect class=\"model\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
                    left + step * static_cast<double>(layer) + 0.1 * step, height - bottom - tall, 0.8 * step, tall) +
          formatted("<title>%zu: ", layer) + form.text(figure) + "</title></rect>\n";
    }
    html += "</svg></figure>\n";
  }
  return html + "</div></section>\n";
}

/// A long table, shown on demand.
std::string folded_table(const TableRows& rows, const std::string& caption) {
  return "<details><summary>" + html_escaped(caption) + ": table</summary>\n" + html_table(rows, caption) +
         "</details>\n";
}

/// The error of each decoder layer's output, on the calibration sequences and on others.
std::string block_chart(const CompressionReport& report) {
  constexpr double width = 700, height = 220, left = 70, bottom = 24, top = 10;
  const TableRows rows = block_table(report);
  if (rows.size() < 2) return "";
  double highest = 0;
  std::size_t layers = 1;
  for (const CompressionReport& block : report["block_error"]) {
    highest = std::max(
        {highest, report_number(block, "calibration").value_or(0), report_number(block, "held_out").value_or(0)});
    layers =
        std::max(layers, static_cast<std::size_t>(std::clamp(report_number(block, "layer").value_or(0), 0.0, 1e6)) + 1);
  }
  if (highest <= 0) highest = 1;
  const auto line = [&](const char* key, const char* style_class) {
    std::string path;
    for (const CompressionReport& block : report["block_error"]) {
      const auto layer = report_number(block, "layer"), figure = report_number(block, key);
      if (!layer || !figure) continue;
      path += formatted("%c%.1f %.1f", path.empty() ? 'M' : 'L',
                        left + (width - left - 10) * std::clamp(*layer, 0.0, 1e6) /
                                   static_cast<double>(std::max<std::size_t>(layers - 1, 1)),
                        height - bottom - (height - bottom - top) * std::max(*figure, 0.0) / highest);
    }
    return path.empty() ? path : formatted("<path class=\"%s\" d=\"", style_class) + path + "\"/>\n";
  };
  const std::string title = "Relative error of each decoder layer's output";
  std::string html = "<section><h2>" + html_escaped(title) + "</h2>\n<figure>\n";
  html += svg_begin("blocks", title, "Solid: held-out sequences. Dashed: calibration sequences.", width, height);
  html +=
      formatted("<path class=\"axis\" fill=\"none\" d=\"M%.0f %.0fV%.0fH%.0f\"/>", left, top, height - bottom, width);
  html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.3g</text>", left - 8, top + 8, highest);
  html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">0</text>", left - 8, height - bottom);
  html += formatted("<text x=\"%.0f\" y=\"%.0f\">0</text>", left, height - 6);
  html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">layer %zu</text>\n", width - 10, height - 6,
                    layers - 1);
  html += line("calibration", "calibration") + line("held_out", "held_out");
  html += "</svg>\n<figcaption>Solid: held-out sequences. Dashed: calibration sequences.</figcaption></figure>\n";
  return html + folded_table(rows, title) + "</section>\n";
}

/// A pair of bars, the compressed model's first; nothing where one of them is missing.
std::string pair_section(const CompressionReport& report, const char* part, const char* compressed_key,
                         const char* dense_key, const std::string& title, const FigureForm& form) {
  const auto found = report.find(part);
  if (found == report.end() || !found->is_object()) return "";
  const auto compressed = report_number(*found, compressed_key), dense = report_number(*found, dense_key);
  if (!compressed || !dense) return "";
  const auto bar = [&](const char* name, double figure) {
    return Bar{name, form.text(figure), figure, figure, figure};
  };
  return bar_section(part, title, {bar("compressed", *compressed), bar("dense", *dense)});
}

/// The notes of the recipe and of the run.
std::string notes_section(const CompressionReport& report) {
  const auto notes = report.find("notes");
  if (notes == report.end() || !notes->is_array() || notes->empty()) return "";
  std::string html = "<h2>Notes</h2>\n<ul>\n";
  for (const CompressionReport& note : *notes) {
    if (note.is_string()) html += "<li>" + html_escaped(note.get<std::string>()) + "</li>\n";
  }
  return html + "</ul>\n";
}

}  // namespace

std::string compression_html(const CompressionReport& report) {
  const std::string name = report["model"];
  std::string body = pair_section(report, "evaluation", "perplexity", "dense_perplexity",
                                  "Perplexity on held-out sequences", {"%.3f", 1});
  if (const TableRows rows = evaluation_table(report); rows.size() > 1) {
    body += html_table(rows, "Against the dense model");
  }
  body += pair_section(report, "size", "compressed_bytes", "dense_bytes", "Size of the weights", {"%.1f MB", 1e-6});
  body += plan_section(report);
  body +=
      "<section><h2>By role</h2>\n" + html_table(role_table(report), "Matrices of a role together") + "</section>\n";
  body +=
      small_charts("error", "Relative error of each matrix", figures_by_role(report, "relative_error"), {"%.3f", 1});
  body += block_chart(report);
  body += small_charts("sparsity", "Sparsity of each matrix", figures_by_role(report, "sparsity"), {"%.1f %%", 100});
  body += small_charts("seconds", "Seconds for each matrix", figures_by_role(report, "seconds"), {"%.1f s", 1});
  body += notes_section(report);
  body += "<section><h2>All matrices</h2>\n" + folded_table(matrix_table(report), "Every matrix that was compressed") +
          "</section>\n";
  return html_page(name + " - tulle compress", name, compression_facts(report), body);
}
