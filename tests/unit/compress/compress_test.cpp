// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/compress.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/model/families.hpp>
#include <tulle/tensor/sparsity.hpp>
#include <utility>
#include <vector>

#include "unit/generate/golden_model.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Tiny {
  explicit Tiny(const std::string& name)
      : checkpoint(Checkpoint::open(std::string(TULLE_GOLDEN "/models/") + name)),
        model(describe_model(checkpoint->config(), checkpoint->path())) {
    for (std::size_t i = 0; i < 10; ++i) {
      std::vector<Token>& sequence = sequences.emplace_back();
      for (std::size_t j = 0; j < 12 + i; ++j) {
        sequence.push_back(static_cast<Token>((i * 31 + j * j * 7 + j) % model.vocabulary));
      }
    }
  }
  StagePlan plan(std::optional<double> sparsity, const std::string& structure, std::size_t bits) const {
    return plan_of_flags(module_list(model), sparsity, structure, bits);
  }
  CompressedModel compress(const StagePlan& plan, CompressionOptions options = {}) const {
    options.held_out = 2;
    if (options.threads == 0) options.threads = 1;  // other tests run meanwhile
    return tulle::compress(*checkpoint, model, sequences, plan, options);
  }

  std::shared_ptr<const Checkpoint> checkpoint;
  Architecture model;
  std::vector<std::vector<Token>> sequences;
};

std::vector<float> values_of(const WeightSource& matrix) {
  std::vector<float> values(matrix.rows() * matrix.columns());
  for (std::size_t row = 0; row < matrix.rows(); ++row) matrix.decode_row(row, values.data() + row * matrix.columns());
  return values;
}

std::vector<std::vector<float>> values_of(const CompressedModel& model) {
  std::vector<std::vector<float>> all;
  for (const LayerReport& layer : model.layers) all.push_back(values_of(*model.tensors->matrix(layer.name)));
  return all;
}

struct Folder {
  Folder()
      : path((std::filesystem::temp_directory_path() / ("tulle_compress_" + std::to_string(::getpid()))).string()) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

TEST_CASE("rotary frequencies are those of so long sequences", "[compress]") {
  Tiny tiny("llama-tiny-dynamic");  // 32 positions
  for (std::vector<Token>& sequence : tiny.sequences) {
    while (sequence.size() < 48) sequence.push_back(static_cast<Token>(sequence.size() * 5 % tiny.model.vocabulary));
  }
  Architecture longer = tiny.model;
  longer.set_sequence_length(48);
  REQUIRE(longer.rotary_tables[0].inverse_frequencies != tiny.model.rotary_tables[0].inverse_frequencies);
  const HeldOutScores found = tiny.compress(tiny.plan({}, "", 8)).held_out;
  tiny.model.rotary_tables[0].inverse_frequencies = longer.rotary_tables[0].inverse_frequencies;
  tiny.model.rotary_tables[0].of_length = {};
  CHECK(found.dense_perplexity == tiny.compress(tiny.plan({}, "", 8)).held_out.dense_perplexity);
}

TEST_CASE("Branches that are scaled make good as much as those whose weights are", "[compress]") {
  Tiny tiny("llama-tiny-gqa");
  EditedTensors scaled(tiny.checkpoint.get());
  constexpr float factor = 0.25f;  // a power of 2, so that all is the same to the bit
  const auto ends = [](const std::string& name) { return name.ends_with("o_proj") || name.ends_with("down_proj"); };
  for (const Module& module : module_list(tiny.model).modules) {
    if (!ends(module.name)) continue;
    std::vector<float> values = values_of(*tiny.checkpoint->matrix(module.name));
    for (float& value : values) value *= factor;
    scaled.replace(module.name, matrix_of_floats(module.rows, module.columns, DType::f32, std::move(values)));
  }
  CompressionOptions options;
  options.held_out = 2;
  options.threads = 1;
  const StagePlan plan = tiny.plan(0.5, "", 16);
  const CompressedModel of_weights = tulle::compress(scaled, tiny.model, tiny.sequences, plan, options);
  tiny.model.residual_scale = factor;
  const CompressedModel of_branches = tulle::compress(*tiny.checkpoint, tiny.model, tiny.sequences, plan, options);
  CHECK(of_weights.held_out.perplexity == Catch::Approx(of_branches.held_out.perplexity).epsilon(1e-5));
  for (std::size_t i = 0; i < of_weights.layers.size(); ++i) {
    const std::string& name = of_weights.layers[i].name;
    CAPTURE(name);
    std::vector<float> wanted = values_of(*of_branches.tensors->matrix(name));
    for (float& value : wanted) value *= ends(name) ? factor : 1;
    CHECK_THAT(values_of(*of_weights.tensors->matrix(name)), Catch::Matchers::Approx(wanted).margin(1e-5));
  }
}

TEST_CASE("Every family and kind of plan is compressed as the plan says") {
  const std::vector<std::string> layouts{"llama-tiny-int8", "opt-tiny-350m", "gpt-neox-tiny-serial", "falcon-tiny-40b"};
  std::vector<std::string> names = layouts;
  for (const testing::GoldenFamily& family : testing::golden_families()) names.push_back(family.directories.front());
  for (const std::string& name : names) {
    const Tiny tiny(name);
    CAPTURE(name);
    const CompressedModel half = tiny.compress(tiny.plan(0.5, "", 16));
    REQUIRE(!half.layers.empty());
    for (const LayerReport& layer : half.layers) {
      CAPTURE(layer.name);
      CHECK_THAT(layer.sparsity, Catch::Matchers::WithinAbs(0.5, 0.01));
      const bool few = layer.form.find("nearest") != std::string::npos;  // an expert that hardly a token chose
      CHECK(layer.form.substr(0, layer.form.find(',')) == "alps 50 %");
      CHECK((!few || tiny.model.max_experts() != 0));
      CHECK(layer.relative_error > 0);
      CHECK(layer.relative_error < 0.6);
    }
    CHECK(half.block_errors.size() == tiny.model.layers.size());
    CHECK(half.held_out.tokens > 0);
    CHECK(half.held_out.dense_perplexity > 1);
    const bool with_int8 = std::find(layouts.begin(), layouts.end(), name) != layouts.end();
    if (!with_int8 && tiny.model.max_experts() == 0) continue;

    const CompressedModel int8 = tiny.compress(tiny.plan({}, "", 8));
    for (const LayerReport& layer : int8.layers) {
      CAPTURE(layer.name);
      // What relu cuts off differs a little after the layers before it.
      CHECK(layer.relative_error < (tiny.model.layers[0].mlp == MlpKind::relu ? 0.05 : 1e-3));
      CHECK(int8.tensors->matrix(layer.name)->code_format().bits == 8);
    }
    CHECK(int8.held_out.kl_divergence < half.held_out.kl_divergence);
  }
}

TEST_CASE("Sequences longer than a model's learned positions are refused") {
  Tiny tiny("opt-tiny");
  tiny.model.learned_positions = tiny.model.first_position + 15;
  try {
    (void)tiny.compress(tiny.plan({}, "", 8));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_THAT(error.what(), ContainsSubstring("15 positions"));
  }
}

TEST_CASE("8:16-gap4 with 4 bits keeps the pattern, its distances and scales that are exact in 16 bits") {
  const Tiny tiny("qwen2-tiny");
  const CompressedModel model = tiny.compress(tiny.plan({}, "8:16-gap4", 4));
  for (const LayerReport& layer : model.layers) {
    const auto matrix = model.tensors->matrix(layer.name);
    CHECK(matrix->code_format() == CodeFormat{.bits = 4, .group = 32, .half_scales = true});
    const std::vector<float> values = values_of(*matrix);
    for (std::size_t begin = 0; begin < values.size(); begin += 16) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < 16; ++i) count += values[begin + i] != 0 ? 1 : 0;
      REQUIRE(count <= 8);
    }
  }
}

TEST_CASE("A compression gives the same values with any number of threads, and again") {
  const Tiny tiny("llama-tiny-linear");
  StagePlan plan = tiny.plan(0.6, "", 4);
  plan.refinement = RefinementPlan{.epochs = 1, .batch = 4};
  CompressionOptions one, three;
  one.threads = 1;
  three.threads = 3;
  const CompressedModel first = tiny.compress(plan, one), second = tiny.compress(plan, three);
  CHECK(values_of(first) == values_of(second));
  CHECK(first.held_out.perplexity == second.held_out.perplexity);
}

TEST_CASE("Inputs that fit in memory one sequence at a time give the same values as all at once") {
  const auto& [name, kind] = GENERATE(table<std::string, std::string>({{"llama-tiny-gqa", "refined"},
                                                                       {"llama-tiny-gqa", "classic"},
                                                                       {"codegen-tiny", "sequential"},
                                                                       {"mixtral-tiny", "sequential"},
                                                                       {"mixtral-tiny", "classic"}}));
  CAPTURE(name, kind);
  Tiny tiny(name);
  tiny.sequences.resize(4);  // each as long as a block of the statistics, so that even low bits are the same
  for (std::size_t i = 0; i < tiny.sequences.size(); ++i) {
    tiny.sequences[i].resize(detail::StatisticsTile::tokens);
    for (std::size_t j = 0; j < tiny.sequences[i].size(); ++j) {
      tiny.sequences[i][j] = static_cast<Token>((i * 31 + j * j * 7 + j / 5) % tiny.model.vocabulary);
    }
  }
  StagePlan plan = tiny.plan(0.5, "", 8);
  if (kind == "refined") plan.refinement = RefinementPlan{.epochs = 1};
  for (auto& [layer, each] : plan.layers) each.target.sequential = kind != "classic";
  if (kind == "classic" && name == "llama-tiny-gqa") {
    const std::string prefix = tiny.model.layer_prefix(1);
    plan.smooth_quant.emplace();
    plan.smooth_quant->mappings.push_back(
        {{prefix + "mlp.gate_proj", prefix + "mlp.up_proj"}, prefix + "post_attention_layernorm"});
  }
  const CompressedModel whole = tiny.compress(plan);
  CompressionOptions options;
  options.input_bytes = 1;
  const CompressedModel pieces = tiny.compress(plan, options);
  CHECK(values_of(whole) == values_of(pieces));
  CHECK(whole.held_out.perplexity == pieces.held_out.perplexity);
  CHECK(whole.held_out.dense_perplexity == pieces.held_out.dense_perplexity);
}

TEST_CASE("An interrupted compression goes on and gives the same values") {
  const std::string structure = GENERATE("0:0", "2:4");  // with 2:4 channels change places
  const Tiny tiny("llama-tiny-gqa");
  StagePlan plan = tiny.plan(0.5, structure, 8);
  plan.refinement = RefinementPlan{.epochs = 1, .batch = 4};
  const CompressedModel whole = tiny.compress(plan);
  const Folder folder;
  CompressionOptions options;
  options.work_directory = folder.path;
  struct Stop {};
  options.progress = [](std::string_view, double fraction) {
    if (fraction < 1) throw Stop();
  };
  REQUIRE(tiny.model.layers.size() > 1);
  CHECK_THROWS_AS(tiny.compress(plan, options), Stop);
  CHECK(std::filesystem::exists(folder.path + "/layer_0.json"));
  CHECK(!std::filesystem::exists(folder.path + "/layer_1.json"));

  options.progress = {};
  const CompressedModel resumed = tiny.compress(plan, options);
  CHECK(values_of(resumed) == values_of(whole));
  CHECK(resumed.layers.size() == whole.layers.size());
  CHECK(resumed.refinements.size() == 2 * tiny.model.layers.size());
  CHECK(resumed.held_out.perplexity == whole.held_out.perplexity);

  options.settings = {{"plan", "another"}};
  CHECK_THROWS_WITH(tiny.compress(plan, options), ContainsSubstring("unfinished work of other settings (plan)"));
}

TEST_CASE("Refinement keeps zeros and the form of values, and the best of its states") {
  std::size_t moved = 0;
  // Matrices apart, fused in a mixed order, with minimums; a sequential, a parallel and a normalized residual.
  for (const std::string name : {"llama-tiny-gqa", "codegen-tiny", "opt-tiny-350m"}) {
    const Tiny tiny(name);
    for (const std::size_t bits : {16, 4}) {
      CAPTURE(name, bits);
      StagePlan plan = bits == 4 ? tiny.plan({}, "", 8) : tiny.plan(0.5, "", 16);
      for (auto& [layer, each] : plan.layers) {
        if (bits == 4) each.quantization = QuantizationPlan{.bits = 4, .symmetric = false};
      }
      plan.refinement = RefinementPlan{.epochs = 2, .batch = 4};
      CompressionOptions options;
      options.threads = 1;
      const CompressedModel refined = tiny.compress(plan, options);
      CHECK(refined.refinements.size() == 2 * tiny.model.layers.size());
      for (const RefinementReport& half : refined.refinements) {
        CHECK((half.epoch == 0 ? half.after == half.before : half.after < half.before));
        moved += half.epoch == 0 ? 0 : 1;
      }
      for (const LayerReport& layer : refined.layers) {
        const auto matrix = refined.tensors->matrix(layer.name);
        CHECK(matrix->code_format().bits == (bits == 4 ? 4 : 0));
        CHECK(matrix->code_format().has_minimums == (bits == 4));
        if (bits != 4) CHECK(measure_sparsity(*matrix).share() >= layer.sparsity);
      }
    }
  }
  CHECK(moved > 0);
}

TEST_CASE("Layers with more outliers stay denser, and the mean is what was wanted") {
  const Tiny tiny("llama-tiny-gqa");
  StagePlan plan = tiny.plan(0.6, "", 16);
  allocate_sparsity(plan, module_list(tiny.model), "owl");
  const CompressedModel model = tiny.compress(plan);
  double mean = 0, least = 1, most = 0;
  for (const LayerReport& layer : model.layers) {
    mean += layer.sparsity / static_cast<double>(model.layers.size());
    least = std::min(least, layer.sparsity);
    most = std::max(most, layer.sparsity);
  }
  CHECK(mean == Catch::Approx(0.6).margin(0.01));
  CHECK(most - least == Catch::Approx(2 * OwlProfile().spread).margin(0.02));
}

TEST_CASE("A layer that may have no more zeros leaves the mean to the others") {
  const Tiny tiny("llama-tiny-gqa");
  StagePlan plan = tiny.plan(0.95, "", 16);
  allocate_sparsity(plan, module_list(tiny.model), "owl");
  const CompressedModel model = tiny.compress(plan);
  double mean = 0;
  for (const LayerReport& layer : model.layers) mean += layer.sparsity / static_cast<double>(model.layers.size());
  CHECK(mean == Catch::Approx(0.95).margin(0.01));
}

TEST_CASE("The only layer with a profile of outliers gets the sparsity that was wanted") {
  const Tiny tiny("llama-tiny-gqa");
  for (std::size_t only = 0; only < 2; ++only) {
    StagePlan plan = tiny.plan(0.6, "", 16);
    allocate_sparsity(plan, module_list(tiny.model), "owl");
    std::erase_if(plan.layers,
                  [&](const auto& each) { return !each.first.starts_with(tiny.model.layer_prefix(only)); });
    const CompressedModel model = tiny.compress(plan);
    for (const LayerReport& layer : model.layers) CHECK(layer.sparsity == Catch::Approx(0.6).margin(0.01));
  }
}

TEST_CASE("Classic statistics, SparseGPT with joint codes, Wanda and magnitude") {
  const Tiny tiny("llama-tiny-gqa");
  for (const PruningMethod method : {PruningMethod::sparsegpt, PruningMethod::wanda, PruningMethod::magnitude}) {
    StagePlan plan = tiny.plan(0.5, "", 16);
    for (auto& [name, layer] : plan.layers) {
      layer.pruning.value().method = method;
      if (method == PruningMethod::wanda) layer.pruning.value().structure.kind = SparsityStructure::Kind::row;
      layer.target = {.alpha = 0, .gamma = 0, .row_weights = false, .sequential = false, .damping = {0, 0, 0.01}};
      if (method == PruningMethod::sparsegpt) {
        layer.quantization = QuantizationPlan{.bits = 8, .searches_scale = false, .jointly = true};
      }
    }
    const CompressedModel model = tiny.compress(plan);
    for (const LayerReport& layer : model.layers) {
      CHECK_THAT(layer.sparsity, Catch::Matchers::WithinAbs(0.5, 0.03));
      CHECK(model.tensors->matrix(layer.name)->code_format().bits == (method == PruningMethod::sparsegpt ? 8 : 0));
    }
  }
}

TEST_CASE("Plans that smooth the same norm for other layers have other settings") {
  StagePlan plan, other;
  plan.smooth_quant = SmoothQuantPlan{0.5, false, {{{"q_proj"}, "norm"}}};
  other.smooth_quant = SmoothQuantPlan{0.5, false, {{{"q_proj", "k_proj"}, "norm"}}};
  CHECK(settings_json(plan) != settings_json(other));
}

TEST_CASE("SmoothQuant changes nothing but how large the activations are") {
  const std::string name = GENERATE("llama-tiny-gqa", "gemma-tiny");
  const Tiny tiny(name);
  StagePlan plan = tiny.plan({}, "", 8);
  const CompressedModel plain = tiny.compress(plan);
  plan.smooth_quant.emplace();
  const std::string prefix = tiny.model.layer_prefix(0) + "self_attn.";
  plan.smooth_quant->mappings.push_back(
      {{prefix + "q_proj", prefix + "k_proj", prefix + "v_proj"}, tiny.model.layer_prefix(0) + "input_layernorm"});
  const CompressedModel smoothed = tiny.compress(plan);
  CHECK_THAT(smoothed.held_out.dense_perplexity, Catch::Matchers::WithinRel(plain.held_out.dense_perplexity, 1e-4));
  CHECK(smoothed.held_out.kl_divergence < 2 * plain.held_out.kl_divergence);
  const std::string norm = tiny.model.layer_prefix(0) + "input_layernorm.weight";
  CHECK(read_floats(*smoothed.tensors, *smoothed.tensors->find(norm)) !=
        read_floats(*tiny.checkpoint, *tiny.checkpoint->find(norm)));
}

TEST_CASE("Channels change places where that suits N:M, and the dense model stays what it was") {
  // q, k and v apart and in one matrix of mixed order, gate and up apart and as one, biases, several queries a head.
  const std::string name = GENERATE("llama-tiny-gqa", "codegen-tiny", "phi3-tiny", "opt-tiny-350m", "qwen2-tiny",
                                    "falcon-tiny-40b", "gpt-neox-tiny", "gpt2-tiny", "mixtral-tiny");
  CAPTURE(name);
  const Tiny tiny(name);
  StagePlan plan = tiny.plan({}, "2:4", 16);
  const CompressedModel permuted = tiny.compress(plan);
  for (auto& [layer, each] : plan.layers) each.pruning.value().permutes = false;
  const CompressedModel plain = tiny.compress(plan);
  CHECK_THAT(permuted.held_out.dense_perplexity, Catch::Matchers::WithinRel(plain.held_out.dense_perplexity, 1e-4));
  for (const LinearRole role : {LinearRole::output, LinearRole::down}) {
    for (const std::string& layer : layer_names(tiny.model, 0, role)) {
      const auto before = tiny.checkpoint->matrix(layer);
      std::vector<float> row(before->columns()), moved(before->columns());
      before->decode_row(1, row.data());
      permuted.folded->matrix(layer)->decode_row(1, moved.data());
      CHECK(row != moved);
      CHECK(std::is_permutation(row.begin(), row.end(), moved.begin()));
      plain.folded->matrix(layer)->decode_row(1, moved.data());
      CHECK(row == moved);
    }
  }
}

TEST_CASE("A model that came pruned keeps its zeros when it is quantized") {
  const Tiny tiny("llama-tiny-gqa");
  const CompressedModel pruned = tiny.compress(tiny.plan(0.5, "", 16));
  const CompressedModel both = compress(*pruned.tensors, tiny.model, tiny.sequences, tiny.plan({}, "", 8));
  for (const LayerReport& layer : both.layers) {
    const auto before = values_of(*pruned.tensors->matrix(layer.name)),
               after = values_of(*both.tensors->matrix(layer.name));
    for (std::size_t i = 0; i < before.size(); ++i) REQUIRE((before[i] != 0 || after[i] == 0));
  }
}

TEST_CASE("Embedding and head are rounded where the plan says so") {
  const Tiny tiny("llama-tiny-gqa");
  StagePlan plan = tiny.plan({}, "", 8);
  plan.embedding_bits = 8;
  if (!tiny.model.tied_head) plan.layers[tiny.model.names.head].quantization = QuantizationPlan{.bits = 8};
  const CompressedModel model = tiny.compress(plan);
  CHECK(model.tensors->matrix(tiny.model.names.embedding)->code_format().bits == 8);
  const auto dense = values_of(*tiny.checkpoint->matrix(tiny.model.names.embedding));
  const auto codes = values_of(*model.tensors->matrix(tiny.model.names.embedding));
  for (std::size_t i = 0; i < dense.size(); ++i) REQUIRE(std::abs(dense[i] - codes[i]) < 0.02f);
}

TEST_CASE("What embedding and head lose shows on the held-out text") {
  const Tiny tiny("llama-tiny-gqa");
  REQUIRE_FALSE(tiny.model.tied_head);
  StagePlan plan;
  plan.layers[tiny.model.names.head].quantization = QuantizationPlan{.bits = 4};
  const double of_head = tiny.compress(plan).held_out.kl_divergence;
  CHECK(of_head > 1e-6);
  plan.embedding_bits = 8;
  CHECK(tiny.compress(plan).held_out.kl_divergence > of_head);
}

TEST_CASE("What cannot be compressed is refused with a reason") {
  Tiny tiny("llama-tiny-gqa");
  const StagePlan plan = tiny.plan(0.5, "", 16);
  SECTION("a weight that is not a number") {
    EditedTensors broken(tiny.checkpoint.get());
    const std::string name = tiny.model.layer_prefix(0) + "mlp.down_proj";
    const auto matrix = tiny.checkpoint->matrix(name);
    std::vector<float> values = values_of(*matrix);
    values[3] = std::numeric_limits<float>::quiet_NaN();
    broken.replace(name, matrix_of_floats(matrix->rows(), matrix->columns(), DType::f32, values));
    CHECK_THROWS_WITH(compress(broken, tiny.model, tiny.sequences, plan),
                      ContainsSubstring("mlp.down_proj.weight\" has a weight that is NaN"));
  }
  SECTION("a weight of the head that is not a number, which is only rounded") {
    EditedTensors broken(tiny.checkpoint.get());
    const auto matrix = tiny.checkpoint->matrix("lm_head");
    std::vector<float> values = values_of(*matrix);
    values[3] = std::numeric_limits<float>::infinity();
    broken.replace("lm_head", matrix_of_floats(matrix->rows(), matrix->columns(), DType::f32, values));
    StagePlan of_head;
    of_head.layers["lm_head"].quantization = QuantizationPlan{.bits = 8};
    CHECK_THROWS_WITH(compress(broken, tiny.model, tiny.sequences, of_head),
                      ContainsSubstring("lm_head.weight\" has a weight that is NaN"));
  }
  SECTION("no sequences besides those that are held out") {
    tiny.sequences.resize(2);
    CHECK_THROWS_WITH(tiny.compress(plan), ContainsSubstring("held out"));
  }
  SECTION("a token outside of the vocabulary") {
    tiny.sequences[1][1] = static_cast<Token>(tiny.model.vocabulary);
    CHECK_THROWS_WITH(tiny.compress(plan), ContainsSubstring("outside of the model's vocabulary"));
  }
  SECTION("refinement of what it does not know") {
    StagePlan refined = plan;
    refined.refinement.emplace();
    const Tiny mixture("mixtral-tiny");
    StagePlan of_mixture = mixture.plan(0.5, "", 16);
    of_mixture.refinement.emplace();
    CHECK_THROWS_WITH(mixture.compress(of_mixture), ContainsSubstring("a mixture of experts"));
    refined.layers.begin()->second.target.sequential = false;
    CHECK_THROWS_WITH(tiny.compress(refined), ContainsSubstring("sequential_update"));
    tiny.sequences.resize(3);
    CHECK_THROWS_WITH(tiny.compress(refined), ContainsSubstring("2 sequences or more"));
  }
  SECTION("a structure that does not fit") {
    StagePlan odd = plan;
    odd.layers.begin()->second.pruning.value().structure = {SparsityStructure::Kind::balanced, 3, 7};
    CHECK_THROWS_WITH(tiny.compress(odd), ContainsSubstring("no whole number of groups"));
  }
}
