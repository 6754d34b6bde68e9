// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/half_block.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <string>
#include <tulle/compress/block_chain.hpp>
#include <tulle/compress/tunable_rows.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/model/families.hpp>
#include <tulle/model/weight_loader.hpp>
#include <vector>

#include "unit/generate/golden_model.hpp"

using namespace tulle;

namespace {

struct FirstLayer {
  explicit FirstLayer(const std::string& name)
      : checkpoint(Checkpoint::open(std::string(TULLE_GOLDEN "/models/") + name)),
        model(describe_model(checkpoint->config(), checkpoint->path())),
        loader(*checkpoint, model, {.pack = {}, .threads = 1}),
        weights(loader.load_layer(0)) {
    prepare_blas();
  }
  std::shared_ptr<const Checkpoint> checkpoint;
  Architecture model;
  WeightLoader<BlasLinear> loader;
  LayerWeights<BlasLinear> weights;
};

/// A half with matrices that may be changed, and the error of its output.
struct TestedHalf {
  TestedHalf(FirstLayer& layer, BlockHalf which, std::size_t tokens)
      : first_role(which == BlockHalf::attention ? LinearRole::query_key_value : LinearRole::up),
        second_role(which == BlockHalf::attention ? LinearRole::output : LinearRole::down),
        block(layer.model, layer.model.layers[0], layer.weights, which, tokens),
        first(stacked(layer, first_role)),
        second(stacked(layer, second_role)),
        y(tokens, layer.model.hidden) {}

  static Matrix stacked(const FirstLayer& layer, LinearRole role) {
    const Linear<BlasLinear>& linear = BlockChain::linear(layer.weights, role);
    Matrix all(linear.rows(), linear.columns());
    for (const auto& part : linear.parts) {
      std::copy_n(part.weights.view().data, part.weights.rows() * all.columns, all[part.first_row]);
    }
    return all;
  }

  /// The mean of |y - target|^2 / |target|^2 over the tokens; y becomes its gradient.
  double error(MatrixView<const float> entry, MatrixView<const float> base, MatrixView<const float> target) {
    block.forward({first.view(), second.view()}, entry, base, y.view());
    double sum = 0;
    for (std::size_t row = 0; row < y.rows; ++row) {
      double apart = 0, whole = 0;
      for (std::size_t i = 0; i < y.columns; ++i) {
        const double t = target[row][i], d = y[row][i] - t;
        apart += d * d;
        whole += t * t;
      }
      sum += apart / whole;
      for (std::size_t i = 0; i < y.columns; ++i) {
        y[row][i] = static_cast<float>(2 * (y[row][i] - target[row][i]) / whole / static_cast<double>(y.rows));
      }
    }
    return sum / static_cast<double>(y.rows);
  }

  LinearRole first_role, second_role;
  HalfBlock block;
  Matrix first, second, y;
};

Matrix pattern(std::size_t tokens, std::size_t columns, float factor) {
  Matrix x(tokens, columns);
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t j = 0; j < columns; ++j) {
      x[t][j] = factor * (static_cast<float>((t * 31 + j * 17 + t * j * 7) % 23) - 11) / 8;
    }
  }
  return x;
}

}  // namespace

TEST_CASE("The gradients of half blocks are those of torch") {
  constexpr std::size_t tokens = 21;
  const Json golden = testing::golden_json("refinement.json");
  for (const auto& [name, halves] : golden.items()) {
    FirstLayer layer(name);
    const Matrix x = pattern(tokens, layer.model.hidden, 1), target = pattern(tokens, layer.model.hidden, 0.9f);
    for (const BlockHalf which : {BlockHalf::attention, BlockHalf::mlp}) {
      const bool is_attention = which == BlockHalf::attention;
      CAPTURE(name, is_attention);
      const Json& facts = halves.at(is_attention ? "attention" : "mlp");
      TestedHalf half(layer, which, tokens);
      CHECK_THAT(half.error(x.view(), x.view(), target.view()),
                 Catch::Matchers::WithinRel(facts.at("error").get<double>(), 1e-4));
      Matrix first(half.first.rows, half.first.columns), second(half.second.rows, half.second.columns);
      half.block.backward({half.first.view(), half.second.view()}, half.y.view(), {first.view(), second.view()});
      std::size_t compared = 0;
      for (const LinearRole role : {half.first_role, half.second_role}) {
        const Matrix& stacked = role == half.first_role ? first : second;
        const auto names = layer_names(layer.model, 0, role);
        const auto places = stacked_rows(layer.model, 0, role);
        for (std::size_t tensor = 0; tensor < names.size(); ++tensor) {
          std::vector<float> gradient(layer.checkpoint->matrix(names[tensor])->rows() * stacked.columns);
          for (std::size_t row = 0; row < places.size(); ++row) {
            if (places[row].first != tensor) continue;
            std::copy_n(stacked[row], stacked.columns, gradient.data() + places[row].second * stacked.columns);
          }
          const std::string key = names[tensor].substr(layer.model.layer_prefix(0).size());
          CAPTURE(key);
          const auto wanted = facts.at("gradients").at(key).get<std::vector<double>>();
          double squares = 0;
          for (const float value : gradient) squares += static_cast<double>(value) * static_cast<double>(value);
          CHECK_THAT(std::sqrt(squares), Catch::Matchers::WithinRel(wanted[0], 1e-3));
          for (std::size_t i = 1; i < wanted.size(); ++i) {
            CHECK_THAT(gradient[i * 7919 % gradient.size()], Catch::Matchers::WithinAbs(wanted[i], 1e-4 * wanted[0]));
          }
          ++compared;
        }
      }
      CHECK(compared == facts.at("gradients").size());
    }
  }
}

TEST_CASE("Half blocks of every family give what the decoder gives, and the slopes of their errors") {
  std::vector<std::string> names{"opt-tiny-350m", "gpt-neox-tiny-serial", "falcon-tiny-40b", "falcon-tiny-rw",
                                 "qwen2-tiny-window"};
  for (const testing::GoldenFamily& family : testing::golden_families()) names.push_back(family.directories.front());
  std::size_t halves = 0;
  for (const std::string& name : names) {
    FirstLayer layer(name);
    if (layer.model.layers[0].is_mixture()) continue;
    std::vector<std::vector<Token>> tokens(1);
    for (std::size_t i = 0; i < 23; ++i) {
      tokens[0].push_back(static_cast<Token>((i * i * 7 + 3 * i) % layer.model.vocabulary));
    }
    const TokenBatch batch(tokens, layer.model.vocabulary);
    ThreadPool pool(1);
    BlockChain chain(layer.model, batch, pool);
    chain.embed(layer.loader.load_entry());
    chain.enter(0, layer.weights);
    const auto copy = [&] {
      Matrix stream(batch.tokens(), layer.model.hidden);
      std::copy_n(chain.residual().data, stream.values.size(), stream.values.data());
      return stream;
    };
    Matrix entry = copy();
    for (const BlockHalf which : {BlockHalf::attention, BlockHalf::mlp}) {
      const bool is_attention = which == BlockHalf::attention;
      CAPTURE(name, is_attention);
      TestedHalf half(layer, which, batch.tokens());
      const Matrix base = copy();
      if (layer.model.layers[0].residual != Residual::parallel) entry = base;
      chain.collect(half.second_role);
      chain.advance(half.second_role);
      const Matrix wanted = copy();
      half.block.forward({half.first.view(), half.second.view()}, entry.view(), base.view(), half.y.view());
      CHECK(testing::largest_difference(half.y.values, wanted.values) < 1e-4 * testing::range_of(wanted.values));

      // Along its own direction the slope of the error is the length of the gradient.
      Matrix target = wanted;
      for (std::size_t i = 0; i < target.values.size(); ++i) target.values[i] += 0.1f * std::sin(static_cast<float>(i));
      const auto error = [&] { return half.error(entry.view(), base.view(), target.view()); };
      (void)error();
      Matrix first(half.first.rows, half.first.columns), second(half.second.rows, half.second.columns);
      half.block.backward({half.first.view(), half.second.view()}, half.y.view(), {first.view(), second.view()});
      for (const bool is_first : {true, false}) {
        const Matrix& gradient = is_first ? first : second;
        Matrix& values = is_first ? half.first : half.second;
        double squares = 0, size = 0;
        for (const float value : gradient.values) squares += static_cast<double>(value) * static_cast<double>(value);
        for (const float value : values.values) size += static_cast<double>(value) * static_cast<double>(value);
        const double length = std::sqrt(squares), step = 1e-3 * std::sqrt(size);
        const Matrix before = values;
        double errors[2];
        for (const int sign : {1, -1}) {
          for (std::size_t i = 0; i < before.values.size(); ++i) {
            values.values[i] = before.values[i] + static_cast<float>(sign * step / length) * gradient.values[i];
          }
          errors[sign < 0] = error();
        }
        values = before;
        CHECK_THAT((errors[0] - errors[1]) / (2 * step), Catch::Matchers::WithinRel(length, 0.03));
      }
      ++halves;
    }
  }
  CHECK(halves > 40);
}
