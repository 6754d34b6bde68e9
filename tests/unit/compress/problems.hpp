// SPDX-License-Identifier: Apache-2.0
/// \file Small layers with known statistics, whose compressed weights were computed by hand-written numpy.
#pragma once

#include <cstddef>
#include <tulle/compress/fit_problem.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <vector>

/// The layer of 2 x 8 weights and 12 tokens: x~[t][j] = ((7 t^2 + 13 j^2 + 5 t j + 3 t + 11 j) mod 17) - 8,
/// x[t][j] = x~ + ((t + 2 j) mod 3 - 1) / 4, w[r][j] = (((29 r + 7 j^2 + 3 j + 5 r j + 5) mod 19) - 9) / 8.
struct ModularLayer {
  static constexpr std::size_t tokens = 12, columns = 8, rows = 2;

  static tulle::BasicMatrix<double> weights() {
    tulle::BasicMatrix<double> w(rows, columns);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t j = 0; j < columns; ++j) {
        w[r][j] = (static_cast<double>((29 * r + 7 * j * j + 3 * j + 5 * r * j + 5) % 19) - 9) / 8;
      }
    }
    return w;
  }
  static std::vector<float> inputs() {
    std::vector<float> x;
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t j = 0; j < columns; ++j) {
        x.push_back(static_cast<float>((7 * t * t + 13 * j * j + 5 * t * j + 3 * t + 11 * j) % 17) - 8);
      }
    }
    return x;
  }
  static std::vector<float> dense_inputs() {
    std::vector<float> x = inputs();
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += 0.25f * (static_cast<float>((i / columns + 2 * (i % columns)) % 3) - 1);
    }
    return x;
  }
};

/// `statistics` of sums in place of means.
inline tulle::LayerStatistics sums_of(tulle::LayerStatistics statistics, std::size_t tokens) {
  for (auto* sums : {&statistics.hessian, &statistics.cross, &statistics.correction}) {
    for (double& sum : sums->span()) sum *= static_cast<double>(tokens);
  }
  return statistics;
}
