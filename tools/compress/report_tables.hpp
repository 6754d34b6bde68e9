// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle compress` did, in words and tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tulle/core/json.hpp>
#include <utility>
#include <vector>

#include "tools/tulle/text_table.hpp"

/// The report of a compression, here and below. All keys may be absent or null except `model` and `layers`:
/// {"model", "recipe", "dataset": text; "samples", "max_seq_length", "seconds", "peak_memory_bytes";
///  "layers": [{"name", "rows", "columns", "form": text, "sparsity", "relative_error", "seconds", "bytes"}];
///  "block_error": [{"layer", "calibration", "held_out"}];
///  "refinement": [{"layer", "half": text, "before", "after", "epoch", "seconds"}];
///  "evaluation": {"dense_perplexity", "perplexity", "ratio", "ratio_standard_error", "kl_divergence", "same_top1"};
///  "size": {"dense_bytes", "compressed_bytes"}; "notes": [text];
///  "plan": {"bytes_per_weight", "speedup", "loss", "matrices": [{"name", "form"}],
///           "uniform": [{"form", "bytes_per_weight", "speedup", "loss"}]}}
using CompressionReport = nlohmann::ordered_json;

/// A number of `object`; none where it is absent, null or not finite.
std::optional<double> report_number(const CompressionReport& object, const std::string& key);

/// The decoder layer and the role in a matrix's name: "model.layers.3.mlp.up_proj" is (3, "up_proj"), "lm_head" (none,
/// "lm_head").
std::pair<std::optional<std::size_t>, std::string> layer_and_role(const std::string& name);

/// "1 h 02 min", "3 min 05 s", "4.2 s".
std::string duration_text(double seconds);

std::vector<std::pair<std::string, std::string>> compression_facts(const CompressionReport& report);

/// A row for each matrix.
TableRows matrix_table(const CompressionReport& report);

/// A row for each role: matrices, forms, sparsity, mean and largest error, seconds, bytes; then their sum.
TableRows role_table(const CompressionReport& report);

/// The compressed model beside the dense one; only the heading where nothing was evaluated.
TableRows evaluation_table(const CompressionReport& report);

/// A row for each decoder layer; only the heading where nothing was measured.
TableRows block_table(const CompressionReport& report);
