// SPDX-License-Identifier: Apache-2.0
#include "survey_html.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tulle/evaluate/estimate.hpp>
#include <utility>
#include <vector>

#include "report_tables.hpp"
#include "tools/tulle/formatted.hpp"
#include "tools/tulle/html_page.hpp"

namespace {

using tulle::OrderedJson;

struct Point {
  std::string name, kind;
  double x, y;
};

/// Bytes a weight against perplexity over that of the model, on a logarithmic scale; the front is joined by a line.
std::string pareto_chart(const std::string& id, const std::string& title, const std::vector<Point>& points) {
  constexpr double width = 760, height = 420, left = 60, right = 130, top = 16, bottom = 40;
  if (points.empty()) return "";
  double max_x = 0, low = points.front().y, high = low;
  for (const Point& point : points) {
    max_x = std::max(max_x, point.x * 1.02);
    low = std::min(low, point.y);
    high = std::max(high, point.y);
  }
  low *= 0.98;
  high = std::max(high * 1.02, low * 1.05);
  const auto x_of = [&](double x) { return left + (width - left - right) * x / max_x; };
  const auto y_of = [&](double y) {
    return height - bottom - (height - bottom - top) * std::log(y / low) / std::log(high / low);
  };
  std::string html = "<section><h2>" + html_escaped(title) + "</h2>\n<figure>\n";
  html += formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-title\">\n", width, height,
                    id.c_str()) +
          "<title id=\"" + id + "-title\">" + html_escaped(title) + "</title>\n";
  html += formatted("<path class=\"axis\" fill=\"none\" d=\"M%.0f %.0fV%.0fH%.0f\"/>\n", left, top, height - bottom,
                    width - right);
  for (const double x : {0.25, 0.5, 0.75, 1.0}) {
    if (x > max_x) continue;
    html +=
        formatted("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.2f</text>\n", x_of(x), height - bottom + 16, x);
  }
  html += formatted("<text x=\"%.0f\" y=\"%.0f\">bytes a weight</text>\n", left, height - 6);
  html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.2f</text>", left - 6, top + 8, high);
  html += formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.2f</text>\n", left - 6, height - bottom, low);
  std::vector<Point> sorted = points;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  std::string path;
  double best = high * 2;
  for (const Point& point : sorted) {
    if (point.y >= best) continue;
    best = point.y;
    path += formatted("%c%.1f %.1f", path.empty() ? 'M' : 'L', x_of(point.x), y_of(point.y));
  }
  html += "<path class=\"held_out\" d=\"" + path + "\"/>\n";
  for (const Point& point : sorted) {
    const bool is_plan = point.kind == "plan";
    const std::string what = html_escaped(point.name) + formatted(": %.3f bytes, %.3f", point.x, point.y);
    html += formatted("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\"><title>", is_plan ? "model" : "other",
                      x_of(point.x), y_of(point.y), is_plan ? 6.0 : 4.0) +
            what + formatted("</title></circle><text x=\"%.1f\" y=\"%.1f\">", x_of(point.x) + 8, y_of(point.y) + 4) +
            html_escaped(point.name) + "</text>\n";
  }
  return html +
         "</svg>\n<figcaption>Perplexity over that of the model, logarithmic. Plans are large. The line joins what "
         "nothing smaller beats.</figcaption></figure></section>\n";
}

/// The perplexity of `own` over that of `other` on the same sequences, compared one by one.
void add_ratio(OrderedJson& own, const OrderedJson& other, const std::string& suffix) {
  std::vector<double> differences, weights;
  for (std::size_t j = 0; j < std::min(other["nll"].size(), own["nll"].size()); ++j) {
    const double tokens = own["tokens"][j];
    differences.push_back((own["nll"][j].get<double>() - other["nll"][j].get<double>()) / tokens);
    weights.push_back(tokens);
  }
  const tulle::Estimate ratio = tulle::exponential(tulle::weighted_mean(differences, weights));
  own["ratio" + suffix] = ratio.value;
  own["standard_error" + suffix] = ratio.standard_error;
}

std::string number_of(const OrderedJson& json, const std::string& key, int digits) {
  const auto found = report_number(json, key);
  return found ? formatted("%.*f", digits, *found) : std::string("-");
}

/// "ratio +- error", as `add_ratio` writes them.
std::string ratio_of(const OrderedJson& text, const std::string& suffix) {
  if (!report_number(text, "ratio" + suffix)) return "-";
  const std::string error = number_of(text, "standard_error" + suffix, 4);
  return number_of(text, "ratio" + suffix, 4) + (error == "-" ? "" : " +- " + error);
}

/// Plans as small and as fast as a form, beside it; nothing where none was measured.
std::string paired_section(const OrderedJson& survey, const std::vector<std::string>& texts) {
  TableRows rows{{"plan", "bytes a weight", "of the form", "decode over the model's", "of the form"}};
  for (const std::string& text : texts) rows.front().push_back("perplexity over the form's, " + text);
  for (const OrderedJson& plan : survey["cells"]) {
    for (const OrderedJson& form : survey["cells"]) {
      if (!plan.contains("form") || form["name"] != plan["form"]) continue;
      std::vector<std::string>& row = rows.emplace_back();
      row.push_back(plan.value("name", ""));
      for (const OrderedJson* cell : {&plan, &form}) row.push_back(number_of(*cell, "bytes_per_weight", 3));
      for (const OrderedJson* cell : {&plan, &form}) row.push_back(number_of(*cell, "decode_ratio", 2));
      for (std::size_t i = 0; i < texts.size(); ++i) row.push_back(ratio_of(plan["texts"][i], "_to_form"));
    }
  }
  if (rows.size() == 1) return "";
  return "<section><h2>Plans beside forms</h2>\n" +
         html_table(rows, "Plans with at most the bytes and the time of a form in every matrix") + "</section>\n";
}

}  // namespace

void add_ratios(OrderedJson& survey) {
  const OrderedJson* model = nullptr;
  for (const OrderedJson& cell : survey["cells"]) {
    if (cell.value("kind", "") == "model") model = &cell;
  }
  if (model == nullptr) return;
  const OrderedJson texts = (*model)["texts"];
  std::map<std::string, OrderedJson> texts_of;  // of each form
  for (const OrderedJson& cell : survey["cells"]) texts_of[cell.value("name", "")] = cell["texts"];
  for (OrderedJson& cell : survey["cells"]) {
    const auto form = texts_of.find(cell.value("form", ""));
    for (std::size_t i = 0; i < std::min(texts.size(), cell["texts"].size()); ++i) {
      OrderedJson& own = cell["texts"][i];
      add_ratio(own, texts[i], "");
      if (form != texts_of.end() && i < form->second.size()) add_ratio(own, form->second[i], "_to_form");
    }
  }
}

std::string survey_html(const OrderedJson& survey) {
  std::vector<std::string> texts;
  for (const OrderedJson& cell : survey["cells"]) {
    if (cell.value("kind", "") != "model") continue;
    for (const OrderedJson& text : cell["texts"]) texts.push_back(text.value("name", ""));
  }
  std::string body;
  TableRows rows{{"", "bytes a weight"}};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<Point> points;
    for (const OrderedJson& cell : survey["cells"]) {
      const auto bytes = report_number(cell, "bytes_per_weight"), ratio = report_number(cell["texts"][i], "ratio");
      const std::string kind = cell.value("kind", "");
      if (bytes && ratio && kind != "model") points.push_back({cell.value("name", ""), kind, *bytes, *ratio});
    }
    body += pareto_chart(formatted("pareto-%zu", i), "Perplexity and size on " + texts[i], points);
    rows.front().push_back("perplexity over the model's, " + texts[i]);
  }
  for (const char* name : {"decode, tokens a second", "decode over the model's", "prefill, tokens a second"}) {
    rows.front().emplace_back(name);
  }
  for (const OrderedJson& cell : survey["cells"]) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(cell.value("name", ""));
    row.push_back(number_of(cell, "bytes_per_weight", 3));
    for (std::size_t i = 0; i < texts.size(); ++i) row.push_back(ratio_of(cell["texts"][i], ""));
    row.push_back(number_of(cell, "decode_tokens_per_second", 0));
    row.push_back(number_of(cell, "decode_ratio", 2));
    row.push_back(number_of(cell, "prefill_tokens_per_second", 0));
  }
  body += paired_section(survey, texts);
  body +=
      "<section><h2>All figures</h2>\n" + html_table(rows, "Forms and plans, measured as they run") + "</section>\n";
  const std::string name = survey.value("model", "");
  return html_page(name + " - survey of forms", name, {{"Dataset", survey.value("dataset", "")}}, body);
}
