// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_all.hpp>
#include <cmath>
#include <string>
#include <string_view>
#include <tulle/core/json.hpp>
#include <vector>

#include "tools/compress/report_html.hpp"
#include "tools/compress/report_tables.hpp"
#include "tools/compress/report_text.hpp"
#include "tools/compress/survey_html.hpp"

namespace {

/// A model of two decoder layers and a head, with two matrices a layer.
CompressionReport sample() {
  return CompressionReport::parse(R"({
    "model": "a<b> & \"c\"", "recipe": "guide.yaml", "dataset": "text.jsonl", "samples": 128, "max_seq_length": 512,
    "seconds": 3725.2, "peak_memory_bytes": 2500000000,
    "layers": [
      {"name": "model.layers.0.mlp.up_proj", "rows": 100, "columns": 10, "form": "8:16 int8", "sparsity": 0.5,
       "relative_error": 0.1, "seconds": 1.5, "bytes": 600000},
      {"name": "model.layers.0.mlp.down_proj", "rows": 10, "columns": 100, "form": "int8", "sparsity": 0,
       "relative_error": 0.05, "seconds": 2, "bytes": 1000000},
      {"name": "model.layers.1.mlp.up_proj", "rows": 100, "columns": 10, "form": "8:16 int4", "sparsity": 0.6,
       "relative_error": 0.3, "seconds": 1.5, "bytes": 400000},
      {"name": "lm_head", "rows": 10, "columns": 10, "form": "int8", "sparsity": 0, "relative_error": null,
       "seconds": 0, "bytes": 100}],
    "block_error": [{"layer": 0, "calibration": 0.01, "held_out": 0.02},
                    {"layer": 1, "calibration": 0.02, "held_out": 0.04}],
    "evaluation": {"dense_perplexity": 20.1283, "perplexity": 25.25, "ratio": 1.25445, "ratio_standard_error": 0.0102,
                   "kl_divergence": 0.21, "same_top1": 0.8125},
    "size": {"dense_bytes": 4000000, "compressed_bytes": 1000000},
    "notes": ["one <note>", "another"]})");
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// "balanced", or the tag that is not closed by its own.
std::string unbalanced(std::string_view page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at + 1)) {
    const std::string_view tag = page.substr(at + 1, page.find('>', at) - at - 1);
    if (tag.starts_with('!') || tag.starts_with("meta") || tag.ends_with('/')) continue;
    const bool closes = tag.starts_with('/');
    const std::string name(tag.substr(closes, tag.find(' ') - closes));
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return name;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "balanced" : open.back();
}

}  // namespace

TEST_CASE("a matrix's name has a layer and a role", "[tools][report_tables]") {
  using Parts = std::pair<std::optional<std::size_t>, std::string>;
  CHECK(layer_and_role("model.layers.12.self_attn.q_proj") == Parts{12, "q_proj"});
  CHECK(layer_and_role("transformer.h.3.mlp.fc_in") == Parts{3, "fc_in"});
  CHECK(layer_and_role("lm_head") == Parts{std::nullopt, "lm_head"});
  CHECK(layer_and_role("a.99999999999999999999.b") == Parts{std::nullopt, "b"});
  CHECK(layer_and_role("") == Parts{std::nullopt, ""});
}

TEST_CASE("durations are rounded to what matters", "[tools][report_tables]") {
  CHECK(duration_text(4.24) == "4.2 s");
  CHECK(duration_text(185) == "3 min 05 s");
  CHECK(duration_text(119.7) == "2 min 00 s");
  CHECK(duration_text(3725.2) == "1 h 02 min");
}

TEST_CASE("facts, roles and evaluation in words", "[tools][report_tables]") {
  const auto facts = compression_facts(sample());
  REQUIRE(facts.size() == 6);
  CHECK(facts[2].second == "128 sequences of at most 512 tokens");
  CHECK(facts[3].second == "1 h 02 min");
  CHECK(facts[4].second == "2.50 GB");
  CHECK(facts[5].second == "1.0 MB, 25.0 % of 4.0 MB");
  const TableRows roles = role_table(sample());
  REQUIRE(roles.size() == 5);
  CHECK(roles[1] ==
        std::vector<std::string>{"up_proj", "2", "8:16 int8, 8:16 int4", "55.0 %", "0.2000", "0.3000", "3.0", "1.0"});
  CHECK(roles[3] == std::vector<std::string>{"lm_head", "1", "int8", "0.0 %", "-", "-", "0.0", "0.0"});
  CHECK(roles[4][0] == "all");
  CHECK(roles[4][1] == "4");
  const TableRows evaluation = evaluation_table(sample());
  REQUIRE(evaluation.size() == 6);
  CHECK(evaluation[3][1] == "1.2545 +- 0.0102 (standard error)");
  CHECK(evaluation[5][1] == "81.25 %");
  CHECK(block_table(sample())[2] == std::vector<std::string>{"1", "0.02000", "0.04000"});
  CHECK(matrix_table(sample())[4] ==
        std::vector<std::string>{"lm_head", "10", "10", "int8", "0.0 %", "-", "0.00", "0.000"});
}

TEST_CASE("the terminal gets facts, tables and notes", "[tools][report_text]") {
  const std::string text = compression_text(sample());
  for (const char* part : {"Recipe: guide.yaml\n", "up_proj", "perplexity of the compressed model", "25.2500",
                           "Notes:\n  * one <note>\n  * another\n"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("the page is whole and needs nothing else", "[tools][report_html]") {
  const std::string page = compression_html(sample());
  CHECK(unbalanced(page) == "balanced");
  CHECK(page.find("<h1>a&lt;b&gt; &amp; &quot;c&quot;</h1>") != std::string::npos);
  CHECK(page.find("<li>one &lt;note&gt;</li>") != std::string::npos);
  for (const char* absent : {"://", "<script", "<img", "<link", "a<b>", "nan", "inf "}) {
    INFO(absent);
    CHECK(page.find(absent) == std::string::npos);
  }
  CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
  // Perplexity, size, blocks; 2 roles with errors, 3 with sparsities, 3 with seconds.
  CHECK(count(page, "<svg ") == 3 + 2 + 3 + 3);
  CHECK(count(page, "role=\"img\"") == count(page, "<svg "));
  CHECK(count(page, "<caption>") == 6);
  CHECK(count(page, "<path class=\"held_out\"") == 1);
}

TEST_CASE("a plan is shown as fields of layers by matrices", "[tools][report_html]") {
  CompressionReport report = sample();
  report["plan"] = CompressionReport::parse(R"({
    "bytes_per_weight": 0.45, "speedup": 1.8, "loss": 0.01,
    "matrices": [{"name": "model.layers.0.mlp.up_proj", "form": "int8"},
                 {"name": "model.layers.1.mlp.up_proj", "form": "2:4-int4"},
                 {"name": "model.layers.1.mlp.down_proj", "form": "int8"}],
    "uniform": [{"form": "int8", "bytes_per_weight": 1, "speedup": 1, "loss": 0.001}]})");
  const std::string page = compression_html(report);
  CHECK(unbalanced(page) == "balanced");
  CHECK(count(page, "<svg ") == count(compression_html(sample()), "<svg ") + 1);
  CHECK(count(page, "style=\"fill:hsl(") == 3 + 2);  // matrices and the legend
  CHECK(page.find("<title>model.layers.1.mlp.up_proj: 2:4-int4</title>") != std::string::npos);
  CHECK(page.find("0.450 bytes a weight, decodes 1.80 times as fast as int8") != std::string::npos);
}

TEST_CASE("a survey has ratios to its model and a chart for each text", "[tools][survey_html]") {
  tulle::OrderedJson survey = tulle::OrderedJson::parse(R"({"model": "m", "dataset": "d", "cells": [
    {"name": "model", "kind": "model", "bytes_per_weight": 2,
     "texts": [{"name": "a<b", "tokens": [10, 10], "nll": [20, 30]}]},
    {"name": "2:4-int8", "kind": "form", "bytes_per_weight": 0.63, "decode_tokens_per_second": 99.6,
     "decode_ratio": 1.254, "texts": [{"name": "a<b", "tokens": [10, 10], "nll": [22, 34]}]},
    {"name": "plan-0.60", "kind": "plan", "bytes_per_weight": 0.6,
     "texts": [{"name": "a<b", "tokens": [10, 10], "nll": [21, 31]}]}]})");
  add_ratios(survey);
  const auto& text = survey["cells"][1]["texts"][0];
  CHECK(text["ratio"].get<double>() == Catch::Approx(std::exp(0.3)));
  CHECK(text["standard_error"].get<double>() == Catch::Approx(std::exp(0.3) * 0.1));
  CHECK(survey["cells"][2]["texts"][0]["standard_error"].get<double>() == 0);
  const std::string page = survey_html(survey);
  CHECK(unbalanced(page) == "balanced");
  CHECK(count(page, "<circle ") == 2);
  CHECK(page.find("<td>1.3499 +- 0.1350</td><td>100</td><td>1.25</td>") != std::string::npos);
  CHECK(page.find("a&lt;b") != std::string::npos);
}

TEST_CASE("columns are as tall as their figures", "[tools][report_html]") {
  const std::string page = compression_html(sample());
  // The chart is 84 units tall, its largest error .3: layer 0 has a third of that.
  CHECK(page.find("height=\"28.00\"><title>0: 0.100</title>") != std::string::npos);
  CHECK(page.find("height=\"84.00\"><title>1: 0.300</title>") != std::string::npos);
}

TEST_CASE("a report without evaluation, blocks, sizes or notes is a page", "[tools][report_html]") {
  CompressionReport report = CompressionReport::parse(R"({"model": "m", "layers": [], "evaluation": null})");
  CHECK(unbalanced(compression_html(report)) == "balanced");
  CHECK(count(compression_html(report), "<svg ") == 0);
  CHECK(compression_text(report).find("Notes") == std::string::npos);
  report["layers"] = {{{"name", "lm_head"}, {"sparsity", 0}}};
  report["block_error"] = {{{"layer", 0}, {"calibration", 0}, {"held_out", nullptr}}};
  report["evaluation"] = {{"perplexity", nullptr}};
  CHECK(unbalanced(compression_html(report)) == "balanced");
  CHECK(compression_html(report).find("nan") == std::string::npos);
}
