// SPDX-License-Identifier: Apache-2.0
/// \file The gradients of the activations of MLPs (L5).
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>

#include <tulle/model/architecture.hpp>

namespace tulle {

/// f(x) and f'(x).
struct Activated {
  float value = 0, slope = 0;
};

/// The function of an MLP; of a gated one that of its gate. `MlpKind::gated_clamped` has none: see `has_backward`.
inline Activated activate(MlpKind kind, float x) noexcept {
  switch (kind) {
    case MlpKind::gated_silu:
    case MlpKind::gated_clamped: {
      const float sigmoid = 1 / (1 + std::exp(-x));
      return {x * sigmoid, sigmoid * (1 + x * (1 - sigmoid))};
    }
    case MlpKind::gated_gelu:
    case MlpKind::gelu: {  // x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3)
      constexpr float twice_root = 1.5957691216057308f, cubic = 0.044715f;
      const float sigmoid = 1 / (1 + std::exp(-twice_root * (x + cubic * x * x * x)));
      return {x * sigmoid, sigmoid * (1 + x * (1 - sigmoid) * twice_root * (1 + 3 * cubic * x * x))};
    }
    case MlpKind::gelu_erf: {
      const float below = 0.5f * (1 + std::erf(x * std::numbers::sqrt2_v<float> / 2));
      const float density = std::exp(-0.5f * x * x) * std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
      return {x * below, below + x * density};
    }
    default: return x > 0 ? Activated{x, 1} : Activated{};
  }
}

/// Whether the gradients of an MLP are known.
constexpr bool has_backward(MlpKind kind) noexcept {
  return kind != MlpKind::gated_clamped;
}

/// Gradients of y = f(up), or of y = f(gate) * up. `inner`: a row as the matrix `up` gives it, of gated kinds gate then up
/// [2 columns]; `dinner` has the same form. y and dy [columns].
inline void activation_forward(MlpKind kind, const float* inner, std::size_t columns, float* y) noexcept {
  const float* up = is_gated(kind) ? inner + columns : nullptr;
  for (std::size_t i = 0; i < columns; ++i) {
    const float value = activate(kind, inner[i]).value;
    y[i] = up == nullptr ? value : value * up[i];
  }
}
inline void activation_backward(MlpKind kind, const float* inner, std::size_t columns, const float* dy,
                                float* dinner) noexcept {
  const float* up = is_gated(kind) ? inner + columns : nullptr;
  for (std::size_t i = 0; i < columns; ++i) {
    const Activated gate = activate(kind, inner[i]);
    dinner[i] = dy[i] * gate.slope * (up == nullptr ? 1 : up[i]);
    if (up != nullptr) dinner[columns + i] = dy[i] * gate.value;
  }
}

}  // namespace tulle
