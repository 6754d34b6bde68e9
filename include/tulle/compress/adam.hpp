// SPDX-License-Identifier: Apache-2.0
/// \file Adam, an optimizer with a step size of its own for every value (L5).
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tulle {

/// One step of all values.
struct AdamStep {
  static constexpr float beta1 = 0.9f, beta2 = 0.95f;

  /// `number` of the step, from 1 on, and its length.
  AdamStep(std::size_t number, float length) noexcept
      : rate(length), bias1(bias(beta1, number)), bias2(bias(beta2, number)) {}

  float rate;
  float bias1, bias2;  ///< of the moments, which begin with 0

 private:
  static float bias(float beta, std::size_t number) noexcept {
    return 1 - static_cast<float>(std::pow(static_cast<double>(beta), static_cast<double>(number)));
  }
};

/// Kingma, Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1, with beta2 = 0.95 for short runs.
/// Threads: calls for different values may run concurrently.
class Adam {
 public:
  static constexpr float epsilon = 1e-8f;

  explicit Adam(std::size_t count) : first_(count), second_(count) {}

  /// values -= rate * m / (sqrt(v) + epsilon) for those from number `begin` on; `values` is the first of them.
  void step(std::size_t begin, std::span<const float> gradient, const AdamStep& step, float rate,
            float* values) noexcept {
    constexpr float beta1 = AdamStep::beta1, beta2 = AdamStep::beta2;
    float* m = first_.data() + begin;
    float* v = second_.data() + begin;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float given = gradient[i];
      m[i] = beta1 * m[i] + (1 - beta1) * given;
      v[i] = beta2 * v[i] + (1 - beta2) * given * given;
      values[i] -= rate * (m[i] / step.bias1) / (std::sqrt(v[i] / step.bias2) + epsilon);
    }
  }

 private:
  std::vector<float> first_, second_;
};

}  // namespace tulle
