// SPDX-License-Identifier: Apache-2.0
#include "report_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "tools/tulle/formatted.hpp"

namespace {

std::string number_cell(const std::optional<double>& number, const char* form, double scale = 1) {
  if (!number) return "-";
  char text[64];
  std::snprintf(text, sizeof text, form, *number * scale);
  return text;
}

std::string text_member(const CompressionReport& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The elements of a list that may be absent.
std::vector<CompressionReport> list_member(const CompressionReport& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? found->get<std::vector<CompressionReport>>()
                                                    : std::vector<CompressionReport>();
}

/// What a role's matrices add up to.
struct RoleSum {
  std::string role;
  std::vector<std::string> forms;
  std::size_t matrices = 0, errors = 0;
  double weights = 0, zeros = 0, error = 0, largest = 0, seconds = 0, bytes = 0;

  void add(const CompressionReport& layer) {
    ++matrices;
    const double size = report_number(layer, "rows").value_or(0) * report_number(layer, "columns").value_or(0);
    weights += size;
    zeros += size * report_number(layer, "sparsity").value_or(0);
    if (const auto found = report_number(layer, "relative_error")) {
      ++errors;
      error += *found;
      largest = std::max(largest, *found);
    }
    seconds += report_number(layer, "seconds").value_or(0);
    bytes += report_number(layer, "bytes").value_or(0);
    const std::string form = text_member(layer, "form");
    if (!form.empty() && std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  }

  std::vector<std::string> row() const {
    std::string form;
    for (const std::string& each : forms) form += (form.empty() ? "" : ", ") + each;
    return {role,
            std::to_string(matrices),
            form.empty() ? "-" : form,
            weights > 0 ? formatted("%.1f %%", 100 * zeros / weights) : "-",
            errors > 0 ? formatted("%.4f", error / static_cast<double>(errors)) : "-",
            errors > 0 ? formatted("%.4f", largest) : "-",
            formatted("%.1f", seconds),
            formatted("%.1f", bytes / 1e6)};
  }
};

}  // namespace

std::optional<double> report_number(const CompressionReport& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::pair<std::optional<std::size_t>, std::string> layer_and_role(const std::string& name) {
  std::optional<std::size_t> layer;
  std::string part;
  for (std::size_t begin = 0; begin <= name.size(); begin += part.size() + 1) {
    part = name.substr(begin, name.find('.', begin) - begin);
    constexpr std::size_t most_digits = 6;
    const bool is_number =
        !part.empty() && part.size() <= most_digits && part.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && !layer) layer = std::stoul(part);
  }
  return {layer, part};
}

std::string duration_text(double seconds) {
  if (seconds < 60) return formatted("%.1f s", seconds);
  const double whole = std::round(seconds);
  const double minutes = std::floor(whole / 60);
  if (minutes < 60) return formatted("%.0f min %02.0f s", minutes, whole - 60 * minutes);
  return formatted("%.0f h %02.0f min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

std::vector<std::pair<std::string, std::string>> compression_facts(const CompressionReport& report) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](const char* name, const std::string& what) {
    if (!what.empty()) facts.emplace_back(name, what);
  };
  add("Recipe", text_member(report, "recipe"));
  add("Dataset", text_member(report, "dataset"));
  const auto samples = report_number(report, "samples"), length = report_number(report, "max_seq_length");
  if (samples && length) add("Calibration", formatted("%.0f sequences of at most %.0f tokens", *samples, *length));
  if (const auto seconds = report_number(report, "seconds")) add("Time", duration_text(*seconds));
  double before = 0, after = 0, seconds = 0;
  for (const CompressionReport& half : list_member(report, "refinement")) {
    before += report_number(half, "before").value_or(0);
    after += report_number(half, "after").value_or(0);
    seconds += report_number(half, "seconds").value_or(0);
  }
  if (before > 0) {
    add("Refinement",
        formatted("error of half blocks %.1f %% lower, in ", 100 * (1 - after / before)) + duration_text(seconds));
  }
  if (const auto bytes = report_number(report, "peak_memory_bytes"))
    add("Peak memory", formatted("%.2f GB", *bytes / 1e9));
  if (const auto plan = report.find("plan"); plan != report.end() && plan->is_object()) {
    const auto bytes = report_number(*plan, "bytes_per_weight"), speed = report_number(*plan, "speedup");
    const std::string form = text_member(*plan, "form");
    if (bytes && speed) {
      add("Plan", formatted("%.3f bytes a weight, decodes %.2f times as fast as int8", *bytes, *speed) +
                      (form.empty() ? "" : ", " + form + " in every matrix"));
    }
  }
  if (const auto size = report.find("size"); size != report.end() && size->is_object()) {
    const auto dense = report_number(*size, "dense_bytes"), compressed = report_number(*size, "compressed_bytes");
    if (dense && compressed && *dense > 0) {
      add("Size",
          formatted("%.1f MB, %.1f %% of %.1f MB", *compressed / 1e6, 100 * *compressed / *dense, *dense / 1e6));
    }
  }
  return facts;
}

TableRows matrix_table(const CompressionReport& report) {
  TableRows rows{{"matrix", "rows", "columns", "form", "sparsity", "relative error", "seconds", "MB"}};
  for (const CompressionReport& layer : list_member(report, "layers")) {
    const std::string form = text_member(layer, "form");
    rows.push_back({text_member(layer, "name"), number_cell(report_number(layer, "rows"), "%.0f"),
                    number_cell(report_number(layer, "columns"), "%.0f"), form.empty() ? "-" : form,
                    number_cell(report_number(layer, "sparsity"), "%.1f %%", 100),
                    number_cell(report_number(layer, "relative_error"), "%.4f"),
                    number_cell(report_number(layer, "seconds"), "%.2f"),
                    number_cell(report_number(layer, "bytes"), "%.3f", 1e-6)});
  }
  return rows;
}

TableRows role_table(const CompressionReport& report) {
  std::vector<RoleSum> roles;
  RoleSum all;
  all.role = "all";
  for (const CompressionReport& layer : list_member(report, "layers")) {
    const std::string role = layer_and_role(text_member(layer, "name")).second;
    auto found = std::find_if(roles.begin(), roles.end(), [&](const RoleSum& each) { return each.role == role; });
    if (found == roles.end()) {
      found = roles.insert(roles.end(), RoleSum());
      found->role = role;
    }
    found->add(layer);
    all.add(layer);
  }
  TableRows rows{{"", "matrices", "form", "sparsity", "mean error", "max error", "seconds", "MB"}};
  for (const RoleSum& role : roles) rows.push_back(role.row());
  if (roles.size() > 1) rows.push_back(all.row());
  return rows;
}

TableRows evaluation_table(const CompressionReport& report) {
  TableRows rows{{"on held-out sequences", "figure"}};
  const auto found = report.find("evaluation");
  if (found == report.end() || !found->is_object()) return rows;
  const auto add = [&](const char* name, const char* key, const char* form, double scale = 1) {
    if (const auto number = report_number(*found, key)) rows.push_back({name, number_cell(number, form, scale)});
  };
  add("perplexity of the dense model", "dense_perplexity", "%.4f");
  add("perplexity of the compressed model", "perplexity", "%.4f");
  if (const auto ratio = report_number(*found, "ratio")) {
    const auto spread = report_number(*found, "ratio_standard_error");
    rows.push_back({"compressed over dense",
                    formatted("%.4f", *ratio) + (spread ? formatted(" +- %.4f (standard error)", *spread) : "")});
  }
  add("KL divergence from the dense model, nats per token", "kl_divergence", "%.5f");
  add("same most likely token", "same_top1", "%.2f %%", 100);
  return rows;
}

TableRows block_table(const CompressionReport& report) {
  TableRows rows{{"decoder layer", "calibration", "held out"}};
  for (const CompressionReport& block : list_member(report, "block_error")) {
    rows.push_back({number_cell(report_number(block, "layer"), "%.0f"),
                    number_cell(report_number(block, "calibration"), "%.5f"),
                    number_cell(report_number(block, "held_out"), "%.5f")});
  }
  return rows;
}
