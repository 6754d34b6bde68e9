// SPDX-License-Identifier: Apache-2.0
#include "report_text.hpp"

std::string compression_text(const CompressionReport& report) {
  std::string text;
  for (const auto& [name, what] : compression_facts(report)) text.append(name).append(": ").append(what).append("\n");
  text += "\n" + text_table(role_table(report));
  if (const TableRows evaluation = evaluation_table(report); evaluation.size() > 1)
    text += "\n" + text_table(evaluation);
  const auto notes = report.find("notes");
  if (notes == report.end() || !notes->is_array() || notes->empty()) return text;
  text += "\nNotes:\n";
  for (const CompressionReport& note : *notes) {
    if (note.is_string()) text.append("  * ").append(note.get<std::string>()).append("\n");
  }
  return text;
}
