// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/residual_stream.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

constexpr std::size_t count = 13;  // more than one tile of rows, so that both threads work

Architecture model_of(NormKind norm) {
  Architecture model = describe_model(testing::llama_config(), "config.json");
  model.norm = norm;
  model.residual_scale = 0.5f;
  return model;
}

NormWeights norm_of(const Architecture& model) {
  return {testing::random_floats(model.hidden, 1, 0.5f, 2), testing::random_floats(model.hidden, 2, -1, 1)};
}

/// Both kinds of norm in double.
std::vector<double> normalized(const Architecture& model, const NormWeights& norm, const float* x) {
  const auto n = static_cast<double>(model.hidden);
  double mean = 0, square = 0;
  if (model.norm == NormKind::layer) {
    for (std::size_t i = 0; i < model.hidden; ++i) mean += x[i] / n;
  }
  for (std::size_t i = 0; i < model.hidden; ++i) square += (x[i] - mean) * (x[i] - mean) / n;
  std::vector<double> y(model.hidden);
  for (std::size_t i = 0; i < model.hidden; ++i) {
    y[i] = (x[i] - mean) / std::sqrt(square + model.norm_epsilon) * norm.weight[i];
    if (model.norm == NormKind::layer) y[i] += norm.bias[i];
  }
  return y;
}

}  // namespace

TEST_CASE("rows are normalized beside the stream or in it", "[model][residual_stream]") {
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    const Architecture model = model_of(kind);
    const NormWeights norm = norm_of(model);
    ThreadPool pool(2);
    ResidualStream stream(model, pool, count);
    const std::vector<float> x = testing::random_floats(count * model.hidden, 3, -2, 2);
    std::copy(x.begin(), x.end(), stream.row(0));
    const MatrixView<float> beside = stream.normalized(norm, count);
    CHECK(std::equal(x.begin(), x.end(), stream.rows(count).data));
    stream.normalize_rows(norm, count);
    for (std::size_t row = 0; row < count; ++row) {
      const std::vector<double> wanted = normalized(model, norm, x.data() + row * model.hidden);
      for (std::size_t i = 0; i < model.hidden; ++i) {
        CHECK(beside[row][i] == Catch::Approx(wanted[i]).margin(1e-5));
        CHECK(stream.row(row)[i] == beside[row][i]);
      }
    }
  }
}

TEST_CASE("a branch is normalized, scaled and added", "[model][residual_stream]") {
  const Architecture model = model_of(NormKind::rms);
  ThreadPool pool(2);
  ResidualStream stream(model, pool, count);
  CHECK(stream.size_bytes() >= 2 * count * model.hidden * sizeof(float));
  const NormWeights norm = norm_of(model);
  const std::vector<float> branch = testing::random_floats(count * model.hidden, 4, -2, 2);
  for (const bool through_norm : {false, true}) {
    std::fill_n(stream.row(0), count * model.hidden, 3.0f);
    std::vector<float> y = branch;
    stream.add_rows(through_norm ? norm : NormWeights(), {y.data(), count, model.hidden});
    for (std::size_t row = 0; row < count; ++row) {
      const float* x = branch.data() + row * model.hidden;
      const std::vector<double> scaled = normalized(model, norm, x);
      for (std::size_t i = 0; i < model.hidden; ++i) {
        CHECK(stream.row(row)[i] == Catch::Approx(3 + 0.5 * (through_norm ? scaled[i] : x[i])).margin(1e-5));
      }
    }
  }
  std::vector<float> y(model.hidden, 4.0f);
  std::fill_n(stream.row(1), model.hidden, 1.0f);
  stream.add_columns(y.data(), 1, 2, 4);
  CHECK(std::vector<float>(stream.row(1), stream.row(1) + 6) == std::vector<float>{1, 1, 3, 3, 1, 1});
}
