// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/quantization_reader.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

QuantizationModifier nearest(const std::string& text, std::vector<std::string>* notes = nullptr) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  std::vector<std::string> unused;
  const detail::RecipeArguments arguments(node, "Q", "r.yaml");
  return detail::QuantizationReader(arguments, notes != nullptr ? *notes : unused).read_nearest();
}

QuantizationModifier legacy(const std::string& text) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  std::vector<std::string> unused;
  const detail::RecipeArguments arguments(node, "L", "r.yaml");
  return detail::QuantizationReader(arguments, unused).read_nearest(true);
}

QuantizationModifier gptq(const std::string& text) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  std::vector<std::string> unused;
  const detail::RecipeArguments arguments(node, "G", "r.yaml");
  return detail::QuantizationReader(arguments, unused).read_gptq();
}

QuantizationModifier descent(const std::string& text) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  std::vector<std::string> unused;
  const detail::RecipeArguments arguments(node, "D", "r.yaml");
  return detail::QuantizationReader(arguments, unused).read_descent();
}

SmoothQuantModifier smooth(const std::string& text) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  std::vector<std::string> unused;
  return detail::read_smooth_quant(detail::RecipeArguments(node, "S", "r.yaml"), false, unused);
}

/// "Linear: 8; Embedding: -"
std::string groups(const QuantizationModifier& modifier) {
  std::string text;
  for (const QuantizationGroup& group : modifier.groups) {
    text += text.empty() ? "" : "; ";
    for (const RecipeTarget& target : group.targets) text += target.text() + " ";
    text += group.weights ? std::to_string(group.weights->bits) : "-";
  }
  return text;
}

}  // namespace

TEST_CASE("SparseML's form quantizes all that is not overridden", "[compress][quantization_reader]") {
  CHECK(groups(nearest("{}")) == "Linear Embedding 8");
  CHECK(groups(nearest("{scheme: deepsparse}")) == "Linear Embedding 8");
  CHECK(groups(nearest("{scheme: {weights: {num_bits: 4, group_size: 32}}}")) == "Linear Embedding 4");
  CHECK(groups(nearest("scheme_overrides: {Embedding: {weights: null}, lm_head: null}")) ==
        "Embedding -; lm_head -; Linear Embedding 8");
  std::vector<std::string> notes;
  nearest("scheme_overrides: {Linear: {weights: {strategy: channel, symmetric: true}}}", &notes);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("line 1: scheme_overrides.Linear: input activations are asymmetric and static"));
}

TEST_CASE("llm-compressor's forms", "[compress][quantization_reader]") {
  CHECK(groups(nearest("{scheme: W8A8}")) == "Linear 8");
  CHECK(groups(nearest("{scheme: W4A16, targets: [lm_head]}")) == "lm_head 4");
  CHECK(groups(nearest("{scheme: {W8A8: [Linear], W4A16: 're:.*down'}}")) == "Linear 8; re:.*down 4");
  CHECK(groups(nearest("{config_groups: {group_0: {targets: [Linear], weights: {num_bits: 8}}, W4A16: [lm_head]}}")) ==
        "Linear 8; lm_head 4");
  CHECK(groups(nearest("{targets: [Linear], scheme: {weights: {num_bits: 4, group_size: 64}}}")) == "Linear 4");
}

TEST_CASE("targets beside config_groups are ignored with a note", "[compress][quantization_reader]") {
  std::vector<std::string> notes;
  const char* text = "{targets: [Linear], config_groups: {W4A16: [lm_head]}}";
  CHECK(groups(nearest(text, &notes)) == "lm_head 4");
  REQUIRE_FALSE(notes.empty());
  CHECK(notes[0] == "line 1: Q: targets: those of config_groups hold");
  CHECK(groups(gptq(text)) == "lm_head 4");
}

TEST_CASE("SparseML 1.8's legacy modifier has SparseML's form alone", "[compress][quantization_reader]") {
  CHECK(groups(legacy("scheme_overrides: {Embedding: {weights: null}}")) == "Embedding -; Linear Embedding 8");
  for (const char* text : {"{scheme: W8A8}", "{targets: [Linear]}", "{config_groups: {W4A16: [lm_head]}}"}) {
    CHECK_THROWS_WITH(legacy(text), Catch::Matchers::ContainsSubstring("are of QuantizationModifier"));
  }
}

TEST_CASE("GPTQ is the same with its damping", "[compress][quantization_reader]") {
  const QuantizationModifier modifier = gptq("{scheme: W4A16, dampening_frac: 0.05, sequential_update: true}");
  CHECK(modifier.method == QuantizationMethod::gptq);
  CHECK(modifier.target == TargetPlan{0, 0, false, true, {0, 0, 0.05}});
  REQUIRE(modifier.groups.size() == 1);
  CHECK(modifier.groups[0].weights == QuantizationPlan{QuantizationMethod::gptq, 4, 128, true, false, false});
  CHECK(gptq("{scheme: W4A16, observer: mse}").groups[0].weights->searches_scale);
  CHECK(gptq("{scheme: W4A16, observer: {weights: mse}}").groups[0].weights->searches_scale);
  CHECK(gptq("{scheme: W4A16, weight_observer: minmax}").groups[0].weights->searches_scale == false);
}

TEST_CASE("a recipe that llm-compressor 0.14 wrote is read", "[compress][quantization_reader]") {
  const QuantizationModifier modifier = gptq(
      "{targets: [Linear], ignore: [lm_head], scheme: W4A16, kv_cache_scheme: null, weight_observer: null, "
      "bypass_divisibility_checks: false, requires_calibration_data: true, block_size: 128, dampening_frac: 0.01, "
      "actorder: static, offload_hessians: false, batched_quantization: auto}");
  CHECK(modifier.groups.size() == 1);
  CHECK(error_of([] { gptq("{scheme: W4A16, actorder: bogus}"); }).find("must be static, group or weight") !=
        std::string::npos);
  CHECK(error_of([] { gptq("{scheme: W4A16, block_size: -5}"); }).find("must be a whole number from 1") !=
        std::string::npos);
}

TEST_CASE("what only activations or the cache have becomes a note", "[compress][quantization_reader]") {
  const auto has_note = [](const std::string& text, const std::string& part) {
    std::vector<std::string> notes;
    nearest(text, &notes);
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  CHECK(has_note("{scheme: W4A8}", "only weights are quantized"));
  CHECK_FALSE(has_note("{scheme: W4A16}", "only weights are quantized"));
  CHECK(has_note("{scheme: W8A8, kv_cache_scheme: {num_bits: 8}}", "the type that --cache-dtype gives"));
  const std::string group = "{config_groups: {g: {targets: [Linear], weights: {num_bits: 8}, input_activations: ";
  CHECK(has_note(group + "{dynamic: true, strategy: tensor}}}}", "activations of each token have one scale"));
  CHECK(error_of([&] { nearest(group + "{strategy: bogus}}}}"); }).find("unknown strategy \"bogus\"") !=
        std::string::npos);
}

TEST_CASE("descent searches scales for its own target", "[compress][quantization_reader]") {
  const QuantizationModifier modifier = descent("{scheme: W4A16, ignore: [lm_head]}");
  CHECK(modifier.target == TargetPlan{});
  REQUIRE(modifier.groups.size() == 1);
  CHECK(modifier.groups[0].weights == QuantizationPlan{QuantizationMethod::descent, 4, 128, true, true, false});
  CHECK(error_of([] { descent("{scheme: W4A16, dampening_frac: 0.1}"); }).find("unknown argument") !=
        std::string::npos);
}

TEST_CASE("wrong arguments of quantization modifiers are errors", "[compress][quantization_reader]") {
  const auto error = [](const std::string& text) { return error_of([&] { nearest(text); }); };
  CHECK(error("{shceme: W8A8}") ==
        "invalid_argument: r.yaml, line 1: unknown argument \"shceme\" of Q; did you mean scheme?");
  CHECK(error("{scheme: W8A8, scheme_overrides: {}}").starts_with("invalid_argument: "));
  CHECK(error("{targets: [Linear]}").find("has neither a scheme nor config_groups") != std::string::npos);
  CHECK(error("{scheme: [W8A8]}").starts_with("invalid_argument: "));
  CHECK(error("{scheme: {W8A8: []}}").starts_with("invalid_argument: "));
  CHECK(error("{config_groups: {}}").starts_with("invalid_argument: "));
  CHECK(error("{config_groups: [1]}").starts_with("invalid_argument: "));
  CHECK(error("{config_groups: {g: {weights: {num_bits: 8}}}}").find("config_groups.g has no targets") !=
        std::string::npos);
  CHECK(error("{config_groups: {g: {targets: [Linear]}}, scheme: W8A8}").starts_with("invalid_argument: "));
  CHECK(error("{scheme_overrides: [1]}").starts_with("invalid_argument: "));
  CHECK(error("{scheme: W8A8, observer: {weight: mse}}").starts_with("invalid_argument: "));
  CHECK(error_of([] { gptq("{}"); }).find("has neither a scheme nor config_groups") != std::string::npos);
  CHECK(error_of([] { gptq("{scheme: W4A16, quantize: false}"); }).starts_with("invalid_argument: "));
}

TEST_CASE("SmoothQuant's arguments", "[compress][quantization_reader]") {
  CHECK(smooth("{}").strength == 0.5);
  CHECK(smooth("{alpha: 0.8}").strength == 0.8);
  CHECK(smooth("{smoothing_strength: 0.7, algorithm: log_equalization}").is_logarithmic);
  const SmoothQuantModifier modifier = smooth(
      "mappings: [[['re:.*q_proj', 're:.*k_proj'], 're:.*input_layernorm'], {balance_layers: [a], smooth_layer: b}]");
  REQUIRE(modifier.mappings.size() == 2);
  CHECK(modifier.mappings[0].balanced.size() == 2);
  CHECK(modifier.mappings[0].smoothed[0].text() == "re:.*input_layernorm");
  CHECK(modifier.mappings[1].balanced[0].text() == "a");
  for (const char* text : {"{mappings: []}", "{mappings: {a: 1}}", "{mappings: [[a]]}", "{mappings: [[[], b]]}",
                           "{mappings: [[[[a]], b]]}", "{mappings: [{balance_layers: [a]}]}", "{mappings: [x]}",
                           "{alpha: 0.5, smoothing_strength: 0.5}", "{alpha: 2}", "{algorithm: magic}",
                           "{mappings: [{balance_layer: [a], smooth_layer: b}]}"}) {
    INFO(text);
    CHECK(error_of([&] { smooth(text); }).starts_with("invalid_argument: r.yaml, line 1: "));
  }
}
