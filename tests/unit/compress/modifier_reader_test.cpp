// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/modifier_reader.hpp>

#include <string>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

using Read = PruningModifier (*)(const detail::RecipeArguments&, std::vector<std::string>&);

PruningModifier read(Read reader, const std::string& text, std::vector<std::string>* notes = nullptr) {
  const YamlNode node = parse_yaml(text, "r.yaml");
  std::vector<std::string> unused;
  return reader(detail::RecipeArguments(node, "M", "r.yaml"), notes != nullptr ? *notes : unused);
}

std::string error(Read reader, const std::string& text) {
  return error_of([&] { read(reader, text); });
}

using Kind = SparsityStructure::Kind;

}  // namespace

TEST_CASE("SparseGPT has the classic target and SparseML's defaults", "[compress][modifier_reader]") {
  const PruningModifier modifier = read(detail::read_sparsegpt, "{sparsity: 0.5}");
  CHECK(modifier.pruning.method == PruningMethod::sparsegpt);
  CHECK(modifier.pruning.sparsity == 0.5);
  CHECK(modifier.pruning.structure == SparsityStructure{});
  CHECK(modifier.pruning.block_size == 128);
  CHECK_FALSE(modifier.pruning.keep_existing_zeros);
  CHECK(modifier.target == TargetPlan{0, 0, false, false, {0, 0, 0.01}});
  CHECK_FALSE(modifier.quantizes);
  CHECK(modifier.targets.empty());
}

TEST_CASE("SparseGPT's arguments", "[compress][modifier_reader]") {
  std::vector<std::string> notes;
  const PruningModifier modifier =
      read(detail::read_sparsegpt,
           "{sparsity: 0.5, quantize: True, sequential_update: true, mask_structure: '2:4', "
           "block_size: 64, percdamp: 0.1, preserve_sparsity_mask: true, targets: Linear, "
           "ignore: ['re:.*lm_head'], offload_hessians: false, start: 0}",
           &notes);
  CHECK(modifier.quantizes);
  CHECK(modifier.target == TargetPlan{0, 0, false, true, {0, 0, 0.1}});
  CHECK(modifier.pruning.structure == SparsityStructure{Kind::balanced, 2, 4, 0});
  CHECK(modifier.pruning.block_size == 64);
  CHECK(modifier.pruning.keep_existing_zeros);
  CHECK(modifier.targets.size() == 1);
  CHECK(modifier.ignore.size() == 1);
  CHECK(notes.size() == 2);
}

TEST_CASE("a plan has a budget and perhaps forms", "[compress][modifier_reader]") {
  const auto plan = [](const std::string& text) {
    const YamlNode node = parse_yaml(text, "r.yaml");
    std::vector<std::string> notes;
    return detail::read_plan(detail::RecipeArguments(node, "PlanModifier", "r.yaml"), notes);
  };
  CHECK(plan("{bytes_per_weight: 0.45}").budget == FormBudget{0.45, {}});
  CHECK(plan("{speedup: 2, bytes_per_weight: 1}").budget == FormBudget{1, 2});
  CHECK(plan("{speedup: 1.8}").forms.size() == matrix_forms.size());
  CHECK(plan("{speedup: 2, forms: [int8, '2:4-int4']}").forms[1].name == "2:4-int4");
  for (const char* wrong : {"{}", "{speedup: 0}", "{speedup: 2, forms: int7}"}) {
    CHECK(error_of([&] { plan(wrong); }).find("PlanModifier") != std::string::npos);
  }
}

TEST_CASE("sparsities may be one per layer or follow OWL", "[compress][modifier_reader]") {
  const PruningModifier list = read(detail::read_sparsegpt, "{sparsity: [0.25, 0.75]}");
  CHECK(list.layer_sparsities == std::vector<double>{0.25, 0.75});
  CHECK(list.pruning.sparsity == 0.5);
  const PruningModifier owl =
      read(detail::read_wanda, "{sparsity: 0.7, sparsity_profile: owl, owl_m: 7, owl_lmbda: 0.1}");
  CHECK(owl.pruning.owl == OwlProfile{7, 0.1});
  CHECK(read(detail::read_wanda, "{sparsity: 0.7, sparsity_profile: owl}").pruning.owl == OwlProfile{5, 0.08});
  CHECK(read(detail::read_wanda, "{sparsity: 0.7, owl_m: 7}").pruning.owl == OwlProfile{7, 0.08});
  CHECK(read(detail::read_alps, "{sparsity: 0.7, sparsity_profile: rising}").rising_spread == 0.05);
  CHECK(read(detail::read_alps, "{sparsity: 0.7, sparsity_profile: rising, spread: 0.1}").rising_spread == 0.1);
}

TEST_CASE("Wanda compares within rows, magnitude in the matrix", "[compress][modifier_reader]") {
  const PruningModifier wanda = read(detail::read_wanda, "{sparsity: 0.5}");
  CHECK(wanda.pruning.method == PruningMethod::wanda);
  CHECK(wanda.pruning.structure.kind == Kind::row);
  CHECK(wanda.target == TargetPlan{0, 0, false, false, {0, 0, 0}});
  CHECK(read(detail::read_wanda, "{mask_structure: '4:8'}").pruning.structure.kind == Kind::balanced);
  const PruningModifier magnitude = read(detail::read_magnitude, "{init_sparsity: 0.05, final_sparsity: 0.6}");
  CHECK(magnitude.pruning.method == PruningMethod::magnitude);
  CHECK(magnitude.pruning.sparsity == 0.6);
  CHECK(magnitude.pruning.structure.kind == Kind::matrix);
}

TEST_CASE("ALPS has the measured defaults", "[compress][modifier_reader]") {
  const PruningModifier plain = read(detail::read_alps, "{sparsity: 0.5}");
  CHECK(plain.pruning.method == PruningMethod::alps);
  CHECK(plain.target == TargetPlan{});
  const PruningModifier modifier = read(detail::read_alps,
                                        "{mask_structure: 8:16-gap4, alpha: 1, gamma: 0, row_weights: false, "
                                        "damping: {diagonal: 0.005, mean: 0.01}, sequential_update: false}");
  CHECK(modifier.target == TargetPlan{1, 0, false, false, {0.005, 0, 0.01}});
  CHECK(modifier.pruning.structure.max_gap == 4);
  CHECK(read(detail::read_alps, "{sparsity: 0.5, damping: 0.3}").target.damping == Damping{0.3, 0.3, 0});
  // The order of channels matters to N:M alone, and the published methods leave it as it is.
  const auto moves = [](const PruningModifier& each) { return each.pruning.moves_channels(); };
  CHECK(moves(read(detail::read_alps, "{mask_structure: '2:4'}")));
  CHECK(!moves(read(detail::read_alps, "{mask_structure: '2:4', channel_permutation: false}")));
  CHECK(!moves(read(detail::read_alps, "{mask_structure: 8:16-gap4}")));
  CHECK(!moves(plain));
  CHECK(!moves(read(detail::read_wanda, "{sparsity: 0.5, mask_structure: '2:4'}")));
}

TEST_CASE("wrong arguments of pruning modifiers are errors", "[compress][modifier_reader]") {
  CHECK(error(detail::read_sparsegpt, "{}") ==
        "invalid_argument: r.yaml, line 1: M: the sparsity is missing, the share of zeros from 0 to 1");
  CHECK(error(detail::read_sparsegpt, "sparsity: 0.5\nsparsty: 1").ends_with("did you mean sparsity?"));
  CHECK(error(detail::read_sparsegpt, "{sparsity: 1}").ends_with("must be below 1, not \"1\""));
  CHECK(error(detail::read_sparsegpt, "{sparsity: -0.1}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_sparsegpt, "{sparsity: 0}").find("does nothing") != std::string::npos);
  CHECK(error(detail::read_sparsegpt, "{sparsity: 0, quantize: true}") == "none");
  CHECK(error(detail::read_sparsegpt, "{sparsity: []}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_sparsegpt, "{sparsity: {a: 1}}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_sparsegpt, "{sparsity: [0.5], mask_structure: '2:4'}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_sparsegpt, "{sparsity: 0.5, mask_structure: '2:4', block_size: 30}").find("no multiple") !=
        std::string::npos);
  CHECK(error(detail::read_sparsegpt, "{sparsity: 0.5, block_size: 0}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_sparsegpt, "{sparsity: 0.5, percdamp: 1, dampening_frac: 1}").find("another name") !=
        std::string::npos);
  CHECK(error(detail::read_sparsegpt, "{sparsity: 0.5, quantize: 3}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_wanda, "{sparsity: 0.5, owl_m: 5, sparsity_profile: rising}")
            .find("need sparsity_profile: owl") != std::string::npos);
  CHECK(error(detail::read_wanda, "{mask_structure: '2:4', owl_m: 5}").find("without N:M") != std::string::npos);
  CHECK(error(detail::read_wanda, "{sparsity: 0.5, sparsity_profile: lamp}").find("must be owl") != std::string::npos);
  CHECK(error(detail::read_wanda, "{mask_structure: '2:4', sparsity_profile: owl}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_wanda, "{sparsity: 0}").find("does nothing") != std::string::npos);
  CHECK(error(detail::read_wanda, "{sparsity: 0.5, block_size: 128}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_magnitude, "{sparsity: 0.5, final_sparsity: 0.5}").find("another name") !=
        std::string::npos);
  CHECK(error(detail::read_magnitude, "{sparsity: 0.5, apply_globally: true}").starts_with("unsupported: "));
  CHECK(error(detail::read_alps, "{sparsity: 0.5, alpha: 2}").starts_with("invalid_argument: "));
  CHECK(error(detail::read_alps, "{sparsity: 0.5, damping: {diag: 1}}").ends_with("; did you mean diagonal?"));
  CHECK(error(detail::read_alps, "{sparsity: 0.25, mask_structure: '1:4'}").find("contradicts") != std::string::npos);
}
