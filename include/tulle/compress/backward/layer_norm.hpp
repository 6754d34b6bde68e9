// SPDX-License-Identifier: Apache-2.0
/// \file The gradient of a layer norm (L5).
#pragma once

#include <cmath>
#include <cstddef>

namespace tulle {

/// With y = x^ * weight + bias, x^ = (x - mean(x)) / s, s = sqrt(variance(x) + epsilon), and dy the gradient of y: that of
/// x is (g - mean(g) - x^ mean(g x^)) / s, where g = weight * dy. [size] each; dx may be dy.
inline void layer_norm_backward(const float* x, const float* weight, std::size_t size, float epsilon, const float* dy,
                                float* dx) noexcept {
  const double count = static_cast<double>(size);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]);
  const double centre = sum / count;
  for (std::size_t i = 0; i < size; ++i) {
    const double apart = static_cast<double>(x[i]) - centre;
    squares += apart * apart;
  }
  const double inverse = 1 / std::sqrt(squares / count + static_cast<double>(epsilon));
  const auto normed = [&](std::size_t i) { return (static_cast<double>(x[i]) - centre) * inverse; };
  double mean = 0, product = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double g = static_cast<double>(weight[i]) * static_cast<double>(dy[i]);
    mean += g / count;
    product += g * normed(i) / count;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const double g = static_cast<double>(weight[i]) * static_cast<double>(dy[i]);
    dx[i] = static_cast<float>((g - mean - normed(i) * product) * inverse);
  }
}

}  // namespace tulle
