// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/mlp.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/model/weight_loader.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

/// down(silu(gate(x)) * up(x)) of one row in double; names of the three matrices.
std::vector<double> mlp_of(const testing::MemorySource& source, const std::string& gate, const std::string& up,
                           const std::string& down, std::size_t inner, const float* x, std::size_t hidden) {
  const auto product = [&](const std::string& name, std::size_t row, const auto* values, std::size_t size) {
    const std::vector<float> weights = source.row(name + ".weight", row);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += weights[i] * static_cast<double>(values[i]);
    return sum;
  };
  std::vector<double> middle(inner), out(hidden);
  for (std::size_t i = 0; i < inner; ++i) {
    const double g = product(gate, i, x, hidden);
    middle[i] = g / (1 + std::exp(-g)) * product(up, i, x, hidden);
  }
  for (std::size_t i = 0; i < hidden; ++i) out[i] = product(down, i, middle.data(), inner);
  return out;
}

}  // namespace

TEST_CASE("a mixture is the weighted sum of the experts that a row chooses, and of the shared one", "[model][mlp]") {
  const Architecture model = describe_model(testing::mixture_config(), "config.json");
  const testing::MemorySource source = testing::random_tensors(model);
  const auto weights = load_weights<DenseF32>(source, model);
  const LayerSpec& spec = model.layers[0];
  REQUIRE(spec.is_mixture());
  constexpr std::size_t count = 13;
  auto x = testing::random_floats(count * model.hidden, 9, -2, 2);
  ThreadPool pool(2);
  LinearRunner<DenseF32> runner(pool, count, 128);
  Mlp<DenseF32> mlp(model, runner, count);
  CHECK(mlp.size_bytes() > 0);
  std::vector<float> out(count * model.hidden), alone(model.hidden);
  mlp.mix(spec, weights.layers[0], {x.data(), count, model.hidden}, {out.data(), count, model.hidden});

  ExpertChoice choice(1, spec.experts.count, spec.experts.per_row);
  const std::string prefix = "model.layers.0.mlp.";
  for (std::size_t row = 0; row < count; ++row) {
    float* input = x.data() + row * model.hidden;
    choice.choose(spec.experts, weights.layers[0].router, input, model.hidden, 0);
    choice.group(1, spec.experts);
    double gate = 0;
    for (std::size_t i = 0; i < model.hidden; ++i)
      gate += weights.layers[0].shared_gate[i] * static_cast<double>(input[i]);
    const std::string shared = prefix + "shared_expert.";
    std::vector<double> wanted = mlp_of(source, shared + "gate_proj", shared + "up_proj", shared + "down_proj",
                                        spec.experts.shared_intermediate, input, model.hidden);
    for (double& value : wanted) value /= 1 + std::exp(-gate);
    for (std::size_t expert = 0; expert < spec.experts.count; ++expert) {
      for (const ChosenRow& chosen : choice.rows_of(expert)) {
        const std::string name = prefix + "experts." + std::to_string(expert) + ".";
        const auto own = mlp_of(source, name + "gate_proj", name + "up_proj", name + "down_proj", spec.intermediate,
                                input, model.hidden);
        for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += chosen.weight * own[i];
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(std::fabs(out[row * model.hidden + i] - wanted[i]) < 1e-4);
    }
    // Its neighbours changed nothing.
    mlp.mix(spec, weights.layers[0], {input, 1, model.hidden}, {alone.data(), 1, model.hidden});
    CHECK(std::vector<float>(out.begin() + static_cast<std::ptrdiff_t>(row * model.hidden),
                             out.begin() + static_cast<std::ptrdiff_t>((row + 1) * model.hidden)) == alone);
  }
}
