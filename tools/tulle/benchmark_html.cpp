// SPDX-License-Identifier: Apache-2.0
#include "benchmark_html.hpp"

#include <vector>

#include "benchmark_tables.hpp"
#include "formatted.hpp"
#include "html_page.hpp"

namespace {

using OrderedJson = nlohmann::ordered_json;

/// One bar a result, under its name; `measure` makes the rest.
template <class Measure>
std::vector<Bar> bars_of(const OrderedJson& report, Measure&& measure) {
  std::vector<Bar> bars;
  for (const OrderedJson& result : report["results"]) {
    bars.push_back(measure(result));
    bars.back().name = result["name"];
  }
  return bars;
}

std::vector<Bar> spreads(const OrderedJson& report, const char* key) {
  return bars_of(report, [&](const OrderedJson& result) {
    const OrderedJson& spread = result[key];
    return Bar{{}, spread_text(spread, 1), spread["median"], spread["least"], spread["most"]};
  });
}

std::vector<Bar> single(const OrderedJson& report, const char* key, double unit, const char* form) {
  return bars_of(report, [&](const OrderedJson& result) {
    const double value = result[key].get<double>() / unit;
    return Bar{{}, formatted("%.*f", value < 10 ? 2 : 1, value) + form, value, value, value};
  });
}

}  // namespace

std::string benchmark_html(const OrderedJson& report) {
  const std::string name = report["orig_model_path"];
  std::string body = bar_section("decode", "Decode, tokens/s: median (min-max)", spreads(report, "decode_spread"));
  body += bar_section("prefill", "Prefill, tokens/s: median (min-max)", spreads(report, "prefill_spread"));
  body += bar_section("bytes", "Bytes read per token", single(report, "bytes_per_token", 1e6, " MB"));
  body += bar_section("bandwidth", "Share of the read bandwidth", single(report, "bandwidth_share", 0.01, " %"));
  body += "<section><h2>All figures</h2>\n" + html_table(result_table(report), "Every model that was measured");
  const TableRows verification = verification_table(report);
  if (!verification.empty()) body += html_table(verification, verification_title);
  const TableRows speculation = speculation_table(report);
  if (!speculation.empty()) body += html_table(speculation, speculation_title(report));
  return html_page(name + " - tulle benchmark", name, benchmark_facts(report), body + "</section>\n");
}
