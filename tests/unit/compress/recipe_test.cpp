// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/recipe.hpp>

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

using Variables = std::map<std::string, std::string>;

/// "stage: Type@group Type@group; stage: ..."
std::string shown(std::string_view text, const Variables& variables = {}) {
  std::string all;
  for (const RecipeStage& stage : parse_recipe(text, "r.yaml", variables).stages) {
    all += (all.empty() ? "" : "; ") + stage.name + ":";
    for (const Modifier& modifier : stage.modifiers) all += " " + modifier.type + "@" + modifier.group;
  }
  return all;
}

std::string error(std::string_view text, const Variables& variables = {}) {
  return error_of([&] { parse_recipe(text, "r.yaml", variables); });
}

double sparsity(std::string_view text, const Variables& variables = {}) {
  const Recipe recipe = parse_recipe(text, "r.yaml", variables);
  return std::get<PruningModifier>(recipe.stages.at(0).modifiers.at(0).arguments).pruning.sparsity;
}

}  // namespace

TEST_CASE("stages and groups in all forms", "[compress][recipe]") {
  CHECK(shown("a_stage:\n  run_type: oneshot\n  pruning_modifiers:\n    WandaPruningModifier: {sparsity: 0.5}\n"
              "b_stage:\n  quant_modifiers:\n    QuantizationModifier: {scheme: W8A8}\n") ==
        "a: WandaPruningModifier@pruning; b: QuantizationModifier@quant");
  CHECK(shown("stages:\n  x_stage:\n    modifiers:\n      WandaPruningModifier: {sparsity: 0.5}\n") ==
        "x: WandaPruningModifier@default");
  CHECK(shown("test_stage_0: {m_modifiers: {WandaPruningModifier: {sparsity: 0.5}}}\n"
              "test_stage_1: {m_modifiers: {LegacyQuantizationModifier: {}}}\n") ==
        "test_0: WandaPruningModifier@m; test_1: LegacyQuantizationModifier@m");
  CHECK(shown("pruning_modifiers:\n  WandaPruningModifier: {sparsity: 0.5}\n") ==
        "default: WandaPruningModifier@pruning");
  CHECK(shown("modifiers:\n  - !SparseGPTModifier\n    sparsity: 0.5\n  - GPTQModifier: {scheme: W4A16}\n") ==
        "default: SparseGPTModifier@default GPTQModifier@default");
  CHECK(shown("m_modifiers: [!WandaPruningModifier {sparsity: 0.5}, !QuantizationModifier ]") ==
        "default: WandaPruningModifier@m QuantizationModifier@m");
  CHECK(shown("a_stage: {enabled: false, m_modifiers: {WandaPruningModifier: {sparsity: 0.5}}}\n"
              "b_stage: {m_modifiers: {QuantizationModifier: }}\n") == "b: QuantizationModifier@m");
  CHECK(shown("{\"a_stage\": {\"m_modifiers\": {\"AlpsModifier\": {\"sparsity\": 0.5}}}}") == "a: AlpsModifier@m");
  CHECK(shown("---\nversion: 1.1.0\nm_modifiers:\n  SmoothQuantModifier: {}\n---\n\n# A model card\n") ==
        "default: SmoothQuantModifier@m");
}

TEST_CASE("quantize of SparseGPT may hold its own modifier", "[compress][recipe]") {
  CHECK(shown("m_modifiers: {SparseGPTModifier: {sparsity: 0.5, quantize: {QuantizationModifier: {scheme: W8A8}}}}") ==
        "default: QuantizationModifier@m SparseGPTModifier@m");
  CHECK(error("m_modifiers: {SparseGPTModifier: {sparsity: 0.5, quantize: {Other: {}}}}")
            .starts_with("invalid_argument"));
}

TEST_CASE("variables come from args, from other keys and from the caller", "[compress][recipe]") {
  const char* stage = "m_modifiers: {WandaPruningModifier: {sparsity: eval(target / 2)}}\n";
  CHECK(sparsity(std::string("args: {target: 0.5}\n") + stage) == 0.25);
  CHECK(sparsity(std::string("target: 0.5\n") + stage) == 0.25);
  CHECK(sparsity(std::string("args: {target: 0.5}\n") + stage, {{"target", "0.8"}}) == 0.4);
  CHECK(sparsity("a_stage: {args: {s: 0.7}, m_modifiers: {WandaPruningModifier: {sparsity: $s}}}") == 0.7);
  CHECK(sparsity("args: {s: 0.6}\na_stage: {args: {s: 0.7}, m_modifiers: {WandaPruningModifier: {sparsity: <s>}}}") ==
        0.6);
  CHECK(error(stage) == "not_found: r.yaml, line 1: no variable \"target\"; variables are given under args");
  CHECK(error("m_modifiers: {WandaPruningModifier: {sparsity: 0.5}}", {{"sparsity", "0.6"}}) ==
        "not_found: r.yaml: nothing in this recipe refers to the variable \"sparsity\"");
}

TEST_CASE("unknown names are errors with the line and the nearest known name", "[compress][recipe]") {
  CHECK(error("a_stage:\n  m_modifiers:\n    SparseGTPModifier: {}\n") ==
        "invalid_argument: r.yaml, line 3: unknown modifier \"SparseGTPModifier\"; did you mean SparseGPTModifier?");
  CHECK(error("a_stage:\n  m_modifiers:\n    SparseGPTModifier:\n      sparsity: 0.5\n      blocksize: 4\n") ==
        "invalid_argument: r.yaml, line 5: unknown argument \"blocksize\" of SparseGPTModifier; did you mean "
        "block_size?");
  CHECK(error("a_stage:\n  runtype: oneshot\n  m_modifiers: {SmoothQuantModifier: }\n") ==
        "invalid_argument: r.yaml, line 2: unknown key \"runtype\" of stage a; did you mean run_type?");
  CHECK(error("a_stage:\n  oneshot_modifier: {SmoothQuantModifier: }\n").find("did you mean oneshot_modifiers") !=
        std::string::npos);
  CHECK(error("stage:\n  m_modifiers: {SmoothQuantModifier: }\n").find("did you mean stages") != std::string::npos);
  CHECK(error("verson: 1\nm_modifiers: {SmoothQuantModifier: }\n").ends_with("did you mean version?"));
  CHECK(error("m_modifiers: {Zzz: {}}").find("; known are AlpsModifier, SparseGPTModifier") != std::string::npos);
}

TEST_CASE("what only other tools have is unsupported", "[compress][recipe]") {
  CHECK(
      error("m_modifiers: {AWQModifier: {}}").starts_with("unsupported: r.yaml, line 1: AWQModifier is not available"));
  CHECK(error("a_stage: {run_type: train, m_modifiers: {SmoothQuantModifier: }}").starts_with("unsupported: "));
  CHECK(
      error("m_modifiers: {SmoothQuantModifier: {ignore: !!python/object:os.system x}}").starts_with("unsupported: "));
}

TEST_CASE("wrong shapes of a recipe are errors", "[compress][recipe]") {
  CHECK(error("") == "malformed: r.yaml: a recipe must be a mapping of stages or modifiers, not nothing");
  CHECK(error("[]").starts_with("malformed: "));
  CHECK(error("text").starts_with("malformed: "));
  CHECK(error("version: 1").find("a recipe without modifiers") != std::string::npos);
  CHECK(error("a_stage: {}").find("stage a has no modifiers") != std::string::npos);
  CHECK(error("a_stage: [1]").starts_with("invalid_argument: "));
  CHECK(error("stages: [1]").starts_with("invalid_argument: "));
  CHECK(error("args: [1]").starts_with("invalid_argument: "));
  CHECK(error("m_modifiers: 3").starts_with("invalid_argument: "));
  CHECK(error("m_modifiers: [3]").starts_with("invalid_argument: "));
  CHECK(error("m_modifiers: [{a: 1, b: 2}]").starts_with("invalid_argument: "));
  CHECK(error("m_modifiers: {SmoothQuantModifier: 3}").starts_with("invalid_argument: "));
  CHECK(error("a_stage: {run_type: twice, m_modifiers: {SmoothQuantModifier: }}").starts_with("invalid_argument: "));
  CHECK(error("../x_stage: {m_modifiers: {SmoothQuantModifier: }}").find("a stage's name must be") !=
        std::string::npos);
  CHECK(error("_stage: {m_modifiers: {SmoothQuantModifier: }}").find("a stage's name must be") != std::string::npos);
  CHECK(error("a_stage: {m_modifiers: {SmoothQuantModifier: }}\nstages: {a: {m_modifiers: {SmoothQuantModifier: }}}")
            .find("two stages of the name a") != std::string::npos);
  CHECK(error("a: {b: 1}\nm_modifiers: {SmoothQuantModifier: }").starts_with("invalid_argument: "));
}

TEST_CASE("arguments without a meaning are notes with their line", "[compress][recipe]") {
  const Recipe recipe = parse_recipe(
      "q_modifiers:\n  QuantizationModifier:\n    scheme: W8A8\n    num_calibration_steps: 512\n    strict: false\n",
      "r");
  CHECK(recipe.stages[0].notes ==
        std::vector<std::string>{
            "line 4: QuantizationModifier: num_calibration_steps has no meaning here and was ignored",
            "line 5: QuantizationModifier: strict has no meaning here and was ignored"});
}

TEST_CASE("sequential_targets of llm-compressor is a note", "[compress][recipe]") {
  for (const char* arguments : {"SparseGPTModifier: {sparsity: 0.5, ", "WandaPruningModifier: {sparsity: 0.5, ",
                                "GPTQModifier: {scheme: W4A16, "}) {
    const Recipe recipe =
        parse_recipe("modifiers: {" + std::string(arguments) + "sequential_targets: [LlamaDecoderLayer]}}", "r");
    REQUIRE_FALSE(recipe.stages[0].notes.empty());
    CHECK(recipe.stages[0].notes[0].find("sequential_targets has no meaning here") != std::string::npos);
  }
}

TEST_CASE("no cut or changed byte of a recipe does worse than an error", "[compress][recipe]") {
  const std::string text =
      "args: {s: 0.5, list: [a, b]}\n"
      "a_stage:\n  run_type: oneshot\n  m_modifiers:\n"
      "    - !SparseGPTModifier {sparsity: eval(s * 1), targets: $list, mask_structure: '2:4'}\n"
      "    - QuantizationModifier: {scheme_overrides: {Linear: {weights: {num_bits: 8}}}}\n"
      "    - SmoothQuantModifier: {mappings: [[['re:.*q_proj'], 're:.*norm']]}\n";
  REQUIRE(error(text) == "none");
  for (std::size_t i = 0; i < text.size(); ++i) {
    CHECK_FALSE(error(text.substr(0, i)).empty());
    for (const char byte : {'\0', ' ', '{', '[', '"', '\'', '&', '*', '!', ':', '\n', '\xFF', '0'}) {
      std::string changed = text;
      changed[i] = byte;
      CHECK_FALSE(error(changed).empty());
    }
  }
}
