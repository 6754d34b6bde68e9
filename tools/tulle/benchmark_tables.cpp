// SPDX-License-Identifier: Apache-2.0
#include "benchmark_tables.hpp"

#include <cstddef>

#include "formatted.hpp"

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string joined(const OrderedJson& names, const char* joint) {
  std::string text;
  for (const std::string name : names) text += (text.empty() ? "" : joint) + name;
  return text;
}

/// As a shell would read them again, except for quotes.
std::string flags_text(const OrderedJson& flags) {
  std::string text;
  for (const auto& [name, value] : flags.items()) {
    text += (text.empty() ? "" : " ") + name;
    if (value.is_string()) text.append(" ").append(value.get<std::string>());
  }
  return text;
}

OrderedJson in_gigabytes(const OrderedJson& spread) {
  OrderedJson scaled;
  for (const auto& [name, bytes] : spread.items()) scaled[name] = bytes.get<double>() / 1e9;
  return scaled;
}

}  // namespace

std::string spread_text(const OrderedJson& spread, int digits) {
  return formatted("%.*f (%.*f-%.*f)", digits, spread["median"].get<double>(), digits, spread["least"].get<double>(),
                   digits, spread["most"].get<double>());
}

std::vector<Fact> benchmark_facts(const OrderedJson& report) {
  const OrderedJson& machine = report["machine"];
  const OrderedJson& settings = report["settings"];
  const OrderedJson& model = report["results"].front();
  std::vector<Fact> facts{
      {"Machine", machine["processor"].get<std::string>() + ", " + machine["instruction_set"].get<std::string>() +
                      " (has " + joined(machine["instruction_sets"], ", ") + "), " +
                      formatted("%zu %sthreads on %zu cores", report["num_cores"].get<std::size_t>(),
                                settings["pinned"].get<bool>() ? "pinned " : "", machine["cores"].get<std::size_t>())},
      {"Read bandwidth", spread_text(in_gigabytes(machine["read_bytes_per_second"]), 1) + " GB/s"},
      {"Commit", report["version"].get<std::string>() + ", " + report["commit"].get<std::string>()},
      {"Flags", flags_text(report["flags"])},
      {"KV fill", formatted("%zu tokens; prompt: %zu tokens", settings["num_kv_cache_tokens"].get<std::size_t>(),
                            settings["prompt_tokens"].get<std::size_t>())},
      {"Zeros in linear layers", formatted("%.1f %% (%s)", 100 * model["sparsity"].get<double>(),
                                           model["structure"].get<std::string>().c_str())}};
  if (settings["caveat"] != "") facts.emplace_back("Caveat", settings["caveat"]);
  for (const auto& [name, ratios] : report["ratios"].items()) {
    facts.emplace_back("Against " + name,
                       formatted("decode %s times as fast, prefill %s times", spread_text(ratios["decode"], 2).c_str(),
                                 spread_text(ratios["prefill"], 2).c_str()));
  }
  return facts;
}

TableRows result_table(const OrderedJson& report) {
  TableRows rows{{"", "kernel", "MiB", "decode tokens/s (min-max)", "prefill tokens/s (min-max)", "MB/token",
                  "share of bandwidth", "TTFT ms"}};
  for (const OrderedJson& result : report["results"]) {
    std::string kernel = result["kernel"];
    if (result["kernel_bytes"].size() > 1) kernel += formatted(" +%zu", result["kernel_bytes"].size() - 1);
    rows.push_back({result["name"], kernel, formatted("%.1f", result["weights_bytes"].get<double>() / (1 << 20)),
                    spread_text(result["decode_spread"], 2), spread_text(result["prefill_spread"], 1),
                    formatted("%.3f", result["bytes_per_token"].get<double>() / 1e6),
                    formatted("%.0f %%", 100 * result["bandwidth_share"].get<double>()),
                    formatted("%.1f", result["time_to_first_token_ms"].get<double>())});
  }
  return rows;
}

TableRows verification_table(const OrderedJson& report) {
  TableRows rows;
  for (const OrderedJson& result : report["results"]) {
    if (result["verification"].empty()) continue;
    if (rows.empty()) rows.push_back({"", "kernel"});
    const bool first = rows.size() == 1;
    rows.push_back({result["name"], result["kernel"]});
    for (const OrderedJson& pass : result["verification"]) {
      if (first) rows.front().push_back(formatted("%zu rows", pass["rows"].get<std::size_t>()));
      rows.back().push_back(formatted("%.2f", pass["cost"]["median"].get<double>()));
    }
  }
  return rows;
}

TableRows speculation_table(const OrderedJson& report) {
  if (!report.contains("speculation")) return {};
  TableRows rows{{"acceptance", "tokens a draft", "pass over the draft", "accepted of examined", "predicted",
                  "measured (min-max)", "measured / predicted", "adaptive (min-max)", "same text"}};
  for (const OrderedJson& run : report["speculation"]["runs"]) {
    rows.push_back({formatted("%.2f", run["acceptance"].get<double>()),
                    formatted("%zu", run["spec_length"].get<std::size_t>()),
                    formatted("%.2f", run["verification_cost"].get<double>()),
                    formatted("%.2f", run["accepted_of_examined"].get<double>()),
                    formatted("%.2f", run["predicted_speed_up"].get<double>()), spread_text(run["speed_up"], 2),
                    formatted("%.2f", run["measured_of_predicted"].get<double>()),
                    spread_text(run["adaptive_speed_up"], 2), run["same_text"].get<bool>() ? "yes" : "no"});
  }
  return rows;
}

std::string speculation_title(const OrderedJson& report) {
  const OrderedJson& speculation = report["speculation"];
  return formatted(
      "Speed-up by drafts of %s, of which that share is right; a drafted token costs %.3f of a pass over one row "
      "(%.1f of %.1f ms), a text has %zu tokens",
      speculation["draft"].get<std::string>().c_str(), speculation["draft_cost"].get<double>(),
      speculation["draft_step_ms"].get<double>(), speculation["target_pass_ms"].get<double>(),
      speculation["tokens"].get<std::size_t>());
}
