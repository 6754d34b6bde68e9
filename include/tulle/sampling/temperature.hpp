// SPDX-License-Identifier: Apache-2.0
/// \file Temperature: flatter or sharper probabilities (L2).
#pragma once

#include <cmath>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Divides every logit by the temperature.
/// Errors: invalid_argument unless the temperature is at least `smallest`: dividing by less could overflow a float.
class Temperature {
 public:
  static constexpr float smallest = 1e-6f;

  explicit Temperature(float temperature) : temperature_(temperature) {
    if (!(temperature >= smallest && std::isfinite(temperature))) {
      fail(ErrorCode::invalid_argument, "temperature must be a positive number, got ", temperature,
           "; use greedy sampling for temperature 0");
    }
  }

  /// Whether `apply` changes nothing.
  bool neutral() const noexcept { return temperature_ == 1.0f; }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    for (float& logit : logits) logit /= temperature_;
  }

 private:
  float temperature_;
};

static_assert(LogitsTransform<Temperature>);

}  // namespace tulle
