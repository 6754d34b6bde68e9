// SPDX-License-Identifier: Apache-2.0
/// \file The gradient of an RMS norm (L5).
#pragma once

#include <cmath>
#include <cstddef>

namespace tulle {

/// With y = x * weight / r, r = sqrt(mean(x^2) + epsilon), and dy the gradient of y: that of x is
/// (g - x^ mean(g x^)) / r, where g = weight * dy and x^ = x / r. [size] each; dx may be dy.
inline void rms_norm_backward(const float* x, const float* weight, std::size_t size, float epsilon, const float* dy,
                              float* dx) noexcept {
  double squares = 0, product = 0;
  for (std::size_t i = 0; i < size; ++i) {
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    product += static_cast<double>(weight[i]) * static_cast<double>(dy[i]) * static_cast<double>(x[i]);
  }
  const double count = static_cast<double>(size);
  const auto inverse = static_cast<float>(1 / std::sqrt(squares / count + static_cast<double>(epsilon)));
  const float mean = static_cast<float>(product / count) * inverse;
  for (std::size_t i = 0; i < size; ++i) {
    dx[i] = (weight[i] * dy[i] - x[i] * inverse * mean) * inverse;
  }
}

}  // namespace tulle
