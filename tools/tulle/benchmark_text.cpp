// SPDX-License-Identifier: Apache-2.0
#include "benchmark_text.hpp"

#include <cstddef>

#include "benchmark_tables.hpp"
#include "formatted.hpp"

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string tables(const OrderedJson& report, std::string (*write)(const TableRows&)) {
  const TableRows verification = verification_table(report);
  std::string text("\n");
  text += write(result_table(report));
  if (!verification.empty()) text += std::string("\n") + verification_title + ":\n\n" + write(verification);
  const TableRows speculation = speculation_table(report);
  if (!speculation.empty()) text += "\n" + speculation_title(report) + ":\n\n" + write(speculation);
  return text;
}

}  // namespace

std::string benchmark_text(const OrderedJson& report) {
  const OrderedJson& result = report["benchmark_result"];
  std::string text = "Original Model Path: " + report["orig_model_path"].get<std::string>() + "\n";
  text += formatted("Batch Size: %zu\nSequence Length: %zu\nInput IDs Length: %zu\nScenario: sync\n",
                    report["batch_size"].get<std::size_t>(), report["sequence_length"].get<std::size_t>(),
                    report["input_ids_length"].get<std::size_t>());
  text +=
      formatted("Throughput (items/sec): %.4f\nLatency Mean (ms/batch): %.4f\nLatency Median (ms/batch): %.4f\n",
                result["items_per_sec"].get<double>(), result["mean"].get<double>(), result["median"].get<double>());
  text += formatted("Latency Std (ms/batch): %.4f\nIterations: %zu\n\n", result["std"].get<double>(),
                    result["iterations"].get<std::size_t>());
  for (const auto& [name, what] : benchmark_facts(report)) text += name + ": " + what + "\n";
  return text + tables(report, text_table);
}

std::string benchmark_markdown(const OrderedJson& report) {
  std::string text = "### " + markdown_text(report["orig_model_path"]) + "\n\n";
  for (const auto& [name, what] : benchmark_facts(report))
    text += "* " + markdown_text(name) + ": " + markdown_text(what) + "\n";
  return text + tables(report, markdown_table);
}
